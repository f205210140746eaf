//! The sentences about add-ons. What is wrong with a template or a config is said where it is checked.

/// A spec is too large to be checked. `why`: what it has too many of.
pub(crate) fn not_checked(why: &str) -> String {
    format!("spec: not checked for mistakes: {why}")
}
