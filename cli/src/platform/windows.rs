//! Windows.

use std::io;

use tokio::signal::windows;

use super::signal::{HANGUP, INTERRUPT, TERMINATE};

/// A file that is empty, and stays so.
pub const NULL_DEVICE: &str = "NUL";

/// Does nothing: there is no such limit.
pub fn ignore_sigxfsz() {}

/// The allocator of the system has no threshold that moves.
pub fn tune_allocator() {}

/// Calls back with every Ctrl-C, Ctrl-Break, end of the session and loss of the terminal, instead of ending
/// the program. After the last two the system ends it within seconds.
///
/// Must be called on a tokio runtime.
pub fn on_interrupt(arrived: impl Fn(i32) + Clone + Send + 'static) {
    /// Each kind has a separate type with the same method.
    macro_rules! listen {
        ($($listen:path => $signal:expr),*) => {$(
            if let Ok(mut arrivals) = $listen() {
                let arrived = arrived.clone();
                tokio::spawn(async move {
                    while arrivals.recv().await.is_some() {
                        arrived($signal);
                    }
                });
            }
        )*};
    }
    listen!(
        windows::ctrl_c => INTERRUPT,
        windows::ctrl_break => INTERRUPT,
        windows::ctrl_shutdown => TERMINATE,
        windows::ctrl_logoff => TERMINATE,
        windows::ctrl_close => HANGUP
    );
}

/// Does nothing: what was started in a console ends with it.
pub fn own_session() {}

/// Says that there is no way to send another program what Ctrl-C sends.
pub fn interrupt(_pid: u32) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "press Ctrl-C where it was started"))
}
