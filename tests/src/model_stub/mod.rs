//! A model that answers from a script: a local service with the protocols of the real services.
//!
//! Real clients are tested against it. [`ModelStub::start`] takes a [script](Turn), the client gets
//! [`ModelStub::url`] as the address of its service, and [`ModelStub::asked`] returns its requests. Supported
//! protocols, streaming and not: Messages (`/v1/messages`), Responses (`/v1/responses`), Chat Completions
//! (`/v1/chat/completions`) and `generateContent` (`/v1beta/models/...`).
//!
//! Clients also send side requests: for a title, for a token count, or to confirm that the work is done. A request
//! without tools is a side request. It gets a short answer and uses no turn of the script.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

mod anthropic;
mod chat;
mod gemini;
mod http;
mod protocol;
mod responses;
mod script;
mod tools;

use http::Request;
use protocol::{Answer, Part, Protocol};
use script::Act;
pub use script::{Fault, Tokens, Turn};

/// A service that runs until it is dropped.
#[derive(Debug)]
pub struct ModelStub {
    address: SocketAddr,
    desk: Arc<Desk>,
    /// Ends all connections when it is dropped, including silent ones.
    _runtime: Runtime,
}

/// State shared by all connections.
#[derive(Debug)]
struct Desk {
    script: Vec<Turn>,
    /// Whether the client has tools. If so, a request without tools is a side request, such as for a title, and gets a
    /// fixed short answer.
    has_tools: bool,
    asked: Mutex<Vec<Value>>,
}

impl ModelStub {
    /// Starts a service with a script. Repeats the last turn once the script is used up.
    ///
    /// # Panics
    ///
    /// If the machine has no port left.
    pub fn start(script: Vec<Turn>) -> Self {
        Self::start_with(script, true)
    }

    /// Starts a service for a client without tools: all its requests belong to its work.
    pub fn start_without_tools(script: Vec<Turn>) -> Self {
        Self::start_with(script, false)
    }

    fn start_with(script: Vec<Turn>, has_tools: bool) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let desk = Arc::new(Desk { script, has_tools, asked: Mutex::default() });
        runtime.spawn(listen(listener, Arc::clone(&desk)));
        Self { address, desk, _runtime: runtime }
    }

    /// Returns the address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the bodies of the requests that each used up a turn.
    pub fn asked(&self) -> Vec<Value> {
        self.desk.asked().clone()
    }
}

impl Desk {
    fn asked(&self) -> MutexGuard<'_, Vec<Value>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the turn of a request that offers tools.
    fn turn(&self, request: &Value) -> Turn {
        let mut asked = self.asked();
        asked.push(request.clone());
        let turn = self.script.get(asked.len() - 1).or(self.script.last());
        turn.cloned().unwrap_or_else(|| Turn::say("There is no script."))
    }
}

async fn listen(listener: TcpListener, desk: Arc<Desk>) {
    while let Ok((stream, _)) = listener.accept().await {
        let desk = Arc::clone(&desk);
        tokio::spawn(async move {
            // A client that hangs up is no fault of the service.
            let _hung_up = serve(stream, &desk).await;
        });
    }
}

async fn serve(stream: TcpStream, desk: &Desk) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = http::read(&mut stream).await? {
        answer(&mut stream, &request, desk).await?;
    }
    Ok(())
}

async fn answer(to: &mut BufReader<TcpStream>, request: &Request, desk: &Desk) -> io::Result<()> {
    let Some(protocol) = Protocol::from_request(request) else {
        return match protocol::count(request) {
            Some(count) => http::send(to, 200, &[], &count).await,
            None => http::send(to, 404, &[], &json!({"error": {"message": "there is no such page"}})).await,
        };
    };
    let offered = protocol.tools(&request.body);
    let turn =
        if desk.has_tools && offered.is_empty() { Turn::say("Fine.") } else { desk.turn(&request.body) };
    let part = match turn.act {
        Act::Fault(Fault::Status { status, retry_after }) => {
            let wait = retry_after.map(|seconds| ("retry-after", seconds.to_string()));
            return http::send(to, status, wait.as_slice(), &protocol.error(status)).await;
        }
        Act::Fault(Fault::Silence) => return std::future::pending().await,
        Act::Fault(Fault::Cut) => Part::Text("I am going to".to_owned()),
        ref act => tools::part(act, &offered),
    };
    let number = desk.asked().len();
    let answer = Answer { number, model: protocol.model(request), part, tokens: turn.tokens };
    if !protocol.is_streamed(request) {
        return http::send(to, 200, &[], &protocol.whole(&answer)).await;
    }
    let mut events = protocol.events(&answer);
    let is_cut = matches!(turn.act, Act::Fault(Fault::Cut));
    if is_cut {
        events.truncate(events.len() / 2);
    }
    http::stream(to, &events).await?;
    if is_cut { Err(io::ErrorKind::ConnectionAborted.into()) } else { http::end(to).await }
}
