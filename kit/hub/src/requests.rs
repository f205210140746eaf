//! `rest_client_requests_total`: the requests of this process by HTTP code, method and host, as client-go counts them.
//!
//! The counters are the process's, as in client-go: a process that serves metrics adds them to its registry.
//!
//! # Guarantees
//! - A request is counted once: by the code of its response, or as [`ERROR`] if it has no response: there was no connection, its
//!   deadline ended, or its caller gave up.
//! - The values of labels are bounded, whatever a server responds. `code`: one of [`CODES`], the class of another code (`4xx`, which
//!   the pattern `4..` of dashboards matches, too), or [`ERROR`]. `method`: one of [`METHODS`], or [`OTHER`]. `host`: a process calls
//!   the API servers of its kubeconfigs, one or two, or a few that a cluster moves between; from [`MOST_HOSTS`] on they are [`OTHER`].
//! - To count costs an atomic addition: counters are looked up once for each host, method and code.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use http::{Method, StatusCode};
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

/// The name that client-go and controller-runtime use.
const NAME: &str = "rest_client_requests_total";

/// client-go's code of a request without a response.
const ERROR: &str = "<error>";

/// A method or a host beyond the bound.
const OTHER: &str = "<other>";

/// The codes that API servers respond with, and proxies before them.
const CODES: [u16; 23] = [
    200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 422, 429, 500,
    501, 502, 503, 504,
];

/// Classes of the codes that [`CODES`] lacks. No server may send one beyond 599; then it is of the last class.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The methods of the API.
const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Upper bound on hosts with a name of their own.
const MOST_HOSTS: usize = 16;

/// [`CODES`], [`CLASSES`] and [`ERROR`].
const COLUMNS: usize = CODES.len() + CLASSES.len() + 1;

/// [`METHODS`] and [`OTHER`].
const ROWS: usize = METHODS.len() + 1;

/// The counters of one API server.
pub(crate) struct Requests {
    host: String,
    all: IntCounterVec,
    counters: [[OnceLock<IntCounter>; COLUMNS]; ROWS],
}

/// A request under way: it is counted when this is dropped.
pub(crate) struct Underway<'a> {
    requests: &'a Requests,
    row: usize,
    column: usize,
}

/// The counters of a process, by host.
struct Hosts {
    all: IntCounterVec,
    known: BTreeMap<String, Arc<Requests>>,
}

static PROCESS: LazyLock<Mutex<Hosts>> = LazyLock::new(Mutex::default);

/// Registers `rest_client_requests_total`: the requests of all [`HubApi`](crate::HubApi)s of this process.
///
/// # Errors
/// The registry has a metric of this name already.
pub fn register_requests(registry: &Registry) -> prometheus::Result<()> {
    let hosts = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    registry.register(Box::new(hosts.all.clone()))
}

// === impl Requests ===

impl Requests {
    /// The counters of the API server at this URL, which [`shown`](crate::access::shown) returned.
    pub(crate) fn of(server: &str) -> Arc<Self> {
        let host = server.split_once("://").map_or(server, |(_, host)| host);
        let mut hosts = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.of(host)
    }

    fn new(host: &str, all: &IntCounterVec) -> Self {
        Self {
            host: host.to_owned(),
            all: all.clone(),
            counters: Default::default(),
        }
    }

    /// Counts a request when what this returns is dropped: without a response, unless [`Underway::responded`] was called.
    pub(crate) fn begin(&self, method: &Method) -> Underway<'_> {
        let row = METHODS.iter().position(|it| it == method);
        Underway {
            requests: self,
            row: row.unwrap_or(METHODS.len()),
            column: COLUMNS - 1,
        }
    }

    fn counter(&self, row: usize, column: usize) -> &IntCounter {
        self.counters[row][column].get_or_init(|| {
            let method = METHODS.get(row).map_or(OTHER, Method::as_str);
            let code = CODES.get(column).map(u16::to_string);
            let class = CLASSES.get(column.wrapping_sub(CODES.len()));
            let code = code.as_deref().or(class.copied()).unwrap_or(ERROR);
            self.all.with_label_values(&[code, method, &self.host])
        })
    }
}

// === impl Underway ===

impl Underway<'_> {
    /// Notes the response.
    pub(crate) fn responded(mut self, status: StatusCode) {
        let code = status.as_u16();
        self.column = CODES.iter().position(|it| *it == code).unwrap_or_else(|| {
            let class = usize::from(code / 100).clamp(1, CLASSES.len());
            CODES.len() + class - 1
        });
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.requests.counter(self.row, self.column).inc();
    }
}

// === impl Hosts ===

impl Hosts {
    fn of(&mut self, host: &str) -> Arc<Requests> {
        let is_new = !self.known.contains_key(host);
        let host = if is_new && self.known.len() >= MOST_HOSTS {
            OTHER
        } else {
            host
        };
        let requests = (self.known)
            .entry(host.to_owned())
            .or_insert_with(|| Arc::new(Requests::new(host, &self.all)));
        Arc::clone(requests)
    }
}

impl Default for Hosts {
    fn default() -> Self {
        let help = "HTTP requests to API servers, by status code, method and host";
        let all = IntCounterVec::new(Opts::new(NAME, help), &["code", "method", "host"]);
        Self {
            all: all.expect("name and labels are valid"),
            known: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use prometheus::proto::MetricFamily;

    use super::*;

    /// The counted series: code, method and host, with the value.
    fn counted(hosts: &Hosts) -> Vec<([String; 3], u64)> {
        let registry = Registry::new();
        registry.register(Box::new(hosts.all.clone())).unwrap();
        let families = registry.gather();
        let series = families.iter().flat_map(MetricFamily::get_metric);
        let series = series.map(|series| {
            let label = |name| {
                let pair = series.get_label().iter().find(|it| it.name() == name);
                pair.unwrap().value().to_owned()
            };
            let labels = ["code", "method", "host"].map(label);
            (labels, series.get_counter().get_value() as u64)
        });
        series.collect()
    }

    #[test]
    fn a_request_is_counted_once_by_what_became_of_it() {
        let rows = [
            (Method::GET, Some(200), "200", "GET"),
            (Method::POST, Some(409), "409", "POST"),
            (Method::PATCH, Some(429), "429", "PATCH"),
            (Method::PUT, Some(418), "4xx", "PUT"),
            (Method::DELETE, Some(599), "5xx", "DELETE"),
            (Method::DELETE, Some(999), "5xx", "DELETE"),
            (Method::GET, Some(101), "1xx", "GET"),
            (Method::HEAD, Some(200), "200", "<other>"),
            (
                Method::from_bytes(b"BREW").unwrap(),
                None,
                "<error>",
                "<other>",
            ),
            (Method::GET, None, "<error>", "GET"),
        ];
        for (method, responded, code, shown) in rows {
            let mut hosts = Hosts::default();
            let requests = hosts.of("h:6443");
            let begun = requests.begin(&method);
            assert_eq!(counted(&hosts), [], "{method} has not ended");
            match responded {
                Some(status) => begun.responded(StatusCode::from_u16(status).unwrap()),
                None => drop(begun),
            }
            let expected = [code, shown, "h:6443"].map(str::to_owned);
            assert_eq!(counted(&hosts), [(expected, 1)], "{method} {responded:?}");
        }
    }

    #[test]
    fn every_code_has_a_series_of_its_own_or_of_its_class() {
        let mut hosts = Hosts::default();
        let requests = hosts.of("h");
        for code in 100..1000 {
            let begun = requests.begin(&Method::GET);
            begun.responded(StatusCode::from_u16(code).unwrap());
        }
        let counted = counted(&hosts);
        assert_eq!(counted.len(), COLUMNS - 1);
        assert_eq!(counted.iter().map(|(_, count)| count).sum::<u64>(), 900);
        for code in CODES {
            let own = counted
                .iter()
                .find(|(labels, _)| labels[0] == code.to_string());
            assert_eq!(own.map(|(_, count)| *count), Some(1), "{code}");
        }
    }

    #[test]
    fn hosts_beyond_the_bound_share_a_series_and_known_ones_keep_theirs() {
        let mut hosts = Hosts::default();
        let first = hosts.of("h0");
        for host in 1..100 {
            drop(hosts.of(&format!("h{host}")).begin(&Method::GET));
        }
        assert!(Arc::ptr_eq(&first, &hosts.of("h0")));
        assert_eq!(hosts.known.len(), MOST_HOSTS + 1);
        let counted = counted(&hosts);
        assert_eq!(counted.len(), MOST_HOSTS, "h0 was not called");
        let others = counted.iter().find(|(labels, _)| labels[2] == OTHER);
        assert_eq!(others.unwrap().1, 100 - MOST_HOSTS as u64);
    }
}
