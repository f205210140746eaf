//! The life of a server: ready or not, counting, over every TLS it offers, with certificates that change, and to its end.

mod certificates;
mod drain;
mod health;
mod limits;
mod logs;
mod metrics;
mod tls;
