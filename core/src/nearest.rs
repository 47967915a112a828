//! What may have been meant by a name that is not known.

/// Says whether a name and a candidate that differ in so many letters are near enough to each other for the one to be a slip of
/// the pen for the other: in at most a third of the shorter one, and in one letter of any.
pub fn is_near(distance: usize, name: &str, candidate: &str) -> bool {
    distance <= (candidate.len().min(name.len()) / 3).max(1) && distance < candidate.len()
}
