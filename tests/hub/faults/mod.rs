//! Faults under load. The result of each is a count of calls that failed, and it is zero.
//!
//! The load is what an API server does: calls over HTTP/1.1 and verified TLS, on connections that are kept, to one address
//! with replicas of the built binary behind it. A call has failed that gets no answer in time, an answer that is no
//! AdmissionReview, or a wrong one. Where a decision could not be made, the answers that say so are counted apart.
//!
//! `BERTH_FAULTS` makes it long: `long` is an hour's soak, and some minutes for everything else; a duration such as `10m` is
//! that of the soak. A table of the counts comes at the end. The hub is devhub, or a real one where `KUBEBUILDER_ASSETS` names
//! its programs.

mod calls;
mod length;
mod line;
mod load;
mod replicas;
mod served;
mod tally;

// By its name the first, as it takes the longest.
mod busy_and_quiet;
mod certificates;
mod clients;
mod counting;
mod hub;
mod limits;
mod rolling;
