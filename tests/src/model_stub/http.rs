//! As much of HTTP/1.1 as clients of a model need.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    /// Path, without the query.
    pub path: String,
    /// Query: the text after the question mark.
    pub query: String,
    /// Body as JSON; `null` if it is not JSON.
    pub body: Value,
}

/// An event of a stream: its name, where the protocol has names, and what it says.
pub(super) type Event = (Option<&'static str>, String);

/// Reads the next request; `None` at the end of the connection.
pub(super) async fn read(from: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let Some(first) = line(from).await? else { return Ok(None) };
    let target = first.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut length = Some(0);
    while let Some(header) = line(from).await?.filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once(':').unwrap_or((&header, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok(),
            "transfer-encoding" => length = None,
            _ => {}
        }
    }
    let body = match length {
        Some(length) => exactly(from, length).await?,
        None => chunks(from).await?,
    };
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(Request { path: path.to_owned(), query: query.to_owned(), body }))
}

/// Sends a whole answer.
pub(super) async fn send(
    to: &mut BufReader<TcpStream>,
    status: u16,
    headers: &[(&str, String)],
    body: &Value,
) -> io::Result<()> {
    let body = body.to_string();
    let mut head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    to.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
    to.flush().await
}

/// Sends events, one chunk each. [`end`] ends the stream.
pub(super) async fn stream(to: &mut BufReader<TcpStream>, events: &[Event]) -> io::Result<()> {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    to.write_all(HEAD.as_bytes()).await?;
    for (name, data) in events {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        let text = format!("{name}data: {data}\n\n");
        to.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?;
        to.flush().await?;
    }
    Ok(())
}

/// Ends a stream of events.
pub(super) async fn end(to: &mut BufReader<TcpStream>) -> io::Result<()> {
    to.write_all(b"0\r\n\r\n").await?;
    to.flush().await
}

async fn line(from: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = from.read_line(&mut line).await?;
    Ok((read > 0).then(|| line.trim_end().to_owned()))
}

async fn exactly(from: &mut BufReader<TcpStream>, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn chunks(from: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(size) = line(from).await? {
        let length = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16);
        let length = length.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        body.extend(exactly(from, length).await?);
        line(from).await?;
        if length == 0 {
            break;
        }
    }
    Ok(body)
}
