//! The person that a use case talks to while it works.

/// A person who reads notes and answers questions, through any interface.
pub trait Person: Send + Sync {
    /// Shows a note: one or more whole sentences.
    fn note(&self, note: &str);

    /// Shows a line as it is.
    fn tell(&self, line: &str);

    /// Asks a question about a statement, which may be empty; `None` if no person can be asked.
    fn agrees(&self, statement: &str, question: &str) -> Option<bool>;
}
