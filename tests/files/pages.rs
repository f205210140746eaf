//! The pages in `docs/`: what they print holds.

mod book;
mod exit_codes;
mod health;
