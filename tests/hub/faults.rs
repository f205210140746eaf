//! Faults under load. Each test counts the calls that failed; the count must be zero.
//!
//! The load is that of an API server: calls over HTTP/1.1 and verified TLS, on kept connections, to one address with
//! replicas of the built binary behind it. A call fails if its response is late, not an AdmissionReview, or wrong. Responses
//! that say that a decision could not be made are counted separately.
//!
//! `BERTH_FAULTS` sets the length: `long` is a soak of an hour, and some minutes for each other test; a duration such as
//! `10m` is the length of the soak. A table of the counts is printed at the end. The hub is devhub, or a real kube-apiserver
//! if `KUBEBUILDER_ASSETS` names its programs.

mod calls;
mod length;
mod load;
mod replicas;
mod served;
mod tally;

// Its name makes it the first, as it takes the longest.
mod busy_and_quiet;
mod certificates;
mod clients;
mod counting;
mod hub;
mod limits;
mod rolling;
mod upgrade;
