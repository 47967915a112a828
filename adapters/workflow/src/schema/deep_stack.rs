//! Room for recursion: a schema may be a thousand levels deep, and the stack of a worker thread is small.

use std::thread;

use serde_json::Value;

/// Bytes of stack. Only the used part takes memory.
const STACK: usize = 256 * 1024 * 1024;

/// Maximum levels for which the current stack is enough.
const SHALLOW: usize = 64;

/// Runs `work` with a stack that is large enough for [`super::LEVELS_MAX`] levels.
pub(crate) fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("schema".to_owned()).stack_size(STACK);
        let handle = builder.spawn_scoped(scope, work).expect("the system has a thread to give");
        match handle.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Runs `work` on `schema`: here if that is shallow, as most are, else with room.
pub(super) fn with_room_for<T: Send>(schema: &Value, work: impl FnOnce() -> T + Send) -> T {
    if is_shallow(schema) { work() } else { with_room(work) }
}

/// Looks at a value level by level, without recursion.
fn is_shallow(value: &Value) -> bool {
    let mut level = vec![value];
    for _ in 0..SHALLOW {
        let below = level.iter().flat_map(|value| -> Box<dyn Iterator<Item = &Value>> {
            match value {
                Value::Array(items) => Box::new(items.iter()),
                Value::Object(map) => Box::new(map.values()),
                _ => Box::new(std::iter::empty()),
            }
        });
        level = below.collect();
        if level.is_empty() {
            return true;
        }
    }
    false
}
