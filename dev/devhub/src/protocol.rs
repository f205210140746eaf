//! HTTP: interprets requests and makes responses.

mod answer;
mod app;
mod body;
mod call;
mod decode;
pub(crate) mod discovery;
mod health;
mod json;
pub(crate) mod json_path;
mod listener;
mod negotiate;
pub(crate) mod openapi;
mod pages;
mod path;
mod protobuf;
mod query;
mod read;
mod routes;
mod selectors;
mod show;
mod strict;
pub(crate) mod table;
#[cfg(test)]
mod testing;
mod watch;
mod write;

pub(crate) use app::App;
pub(crate) use listener::{open, serve};
