//! Files that a face writes for a person: see [`unstuck_files::output_file`].

pub use unstuck_files::output_file::{Existing, OutputFile, write, write_into};
