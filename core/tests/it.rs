//! Tests of decisions from outside.

mod chains;
mod children;
mod completion;
mod convergence;
mod ends;
mod given;
mod interpolate;
mod loops;
mod model;
mod outage;
mod parts;
mod properties;
mod reach;
mod registry_answers;
mod resume;
mod side_by_side;
mod verdict;
