//! The names and durations of an election, checked as client-go checks them.

use std::time::Duration;

use uuid::Uuid;

use crate::record::MAX_DURATION;

/// The Lease, the candidate's identity, and the durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseParams {
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease's name.
    pub name: String,
    /// The name of this process. No other process that is alive has it. [`identity`] makes one.
    pub identity: Identity,
    /// For how long other processes respect an unchanged record. A Lease stores whole seconds: parts are rounded up.
    pub lease_duration: Duration,
    /// For how long this process leads without a renewal.
    pub renew_deadline: Duration,
    /// The time between two renewals, or two reads of another's record.
    pub retry_period: Duration,
}

/// Why parameters are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidParams {
    /// A name is missing.
    #[error("leader election: the {0} must not be empty")]
    Empty(&'static str),
    /// A duration is zero.
    #[error("leader election: the {0} must be greater than zero")]
    Zero(&'static str),
    /// The lease duration is longer than any elector waits for a record to expire.
    #[error("leader election: the lease duration ({0:?}) must not exceed {MAX_DURATION:?}")]
    TooLong(Duration),
    /// Another process could lead before this one has stopped.
    #[error(
        "leader election: the lease duration ({lease_duration:?}) must be greater than the renew deadline ({renew_deadline:?})"
    )]
    Overlap {
        /// As given.
        lease_duration: Duration,
        /// As given.
        renew_deadline: Duration,
    },
    /// One late renewal would end the term.
    #[error(
        "leader election: the renew deadline ({renew_deadline:?}) must be greater than 1.2 times the retry period ({retry_period:?})"
    )]
    OneTry {
        /// As given.
        renew_deadline: Duration,
        /// As given.
        retry_period: Duration,
    },
}

/// The name of a process in the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    name: String,
    /// It is that of a pod: another process with it was killed, and this one is its successor.
    is_of_pod: bool,
}

/// The identity of this process: the host's name and, as OCM's controllers use, a random part.
///
/// `pod_uid`: of the pod that this runs in, if no other container of that pod stands for election. The Lease of a container that was
/// killed is then taken over by the next one without waiting for its end.
pub fn identity(pod_uid: Option<&str>) -> Identity {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    match pod_uid {
        Some(uid) => Identity {
            name: format!("{host}_{uid}"),
            is_of_pod: true,
        },
        None => format!("{host}_{}", Uuid::new_v4()).into(),
    }
}

// === impl Identity ===

impl Identity {
    /// The text in the Lease.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_of_pod(&self) -> bool {
        self.is_of_pod
    }
}

/// A name that no other process ever has.
impl<T: Into<String>> From<T> for Identity {
    fn from(name: T) -> Self {
        Self {
            name: name.into(),
            is_of_pod: false,
        }
    }
}

// === impl LeaseParams ===

impl LeaseParams {
    /// The durations of Kubernetes' own controllers: 15 s, 10 s, 2 s.
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<Identity>,
    ) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names what is wrong, and the values.
    pub fn validate(&self) -> Result<(), InvalidParams> {
        for (what, value) in [
            ("namespace", &self.namespace),
            ("name", &self.name),
            ("identity", &self.identity.name),
        ] {
            if value.is_empty() {
                return Err(InvalidParams::Empty(what));
            }
        }
        let Self {
            lease_duration,
            renew_deadline,
            retry_period,
            ..
        } = *self;
        for (what, value) in [
            ("lease duration", lease_duration),
            ("renew deadline", renew_deadline),
            ("retry period", retry_period),
        ] {
            if value.is_zero() {
                return Err(InvalidParams::Zero(what));
            }
        }
        if lease_duration > MAX_DURATION {
            return Err(InvalidParams::TooLong(lease_duration));
        }
        if lease_duration <= renew_deadline {
            return Err(InvalidParams::Overlap {
                lease_duration,
                renew_deadline,
            });
        }
        // Both sides are multiplied by five. Saturation can only refuse.
        if renew_deadline.saturating_mul(5) <= retry_period.saturating_mul(6) {
            return Err(InvalidParams::OneTry {
                renew_deadline,
                retry_period,
            });
        }
        Ok(())
    }

    /// The longest time for a request, as in client-go: two fit into a term.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_client_go_refuses_is_refused_with_the_values() {
        let good = LeaseParams::new("hub", "lock", "me");
        assert_eq!(good.validate(), Ok(()));
        let with = |lease, renew, retry| LeaseParams {
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
            ..good.clone()
        };
        assert_eq!(
            with(137_000, 107_000, 26_000).validate(),
            Ok(()),
            "OCM's own"
        );
        assert_eq!(with(3_600_000, 10_000, 2_000).validate(), Ok(()), "an hour");
        assert_eq!(
            with(15_000, 2_401, 2_000).validate(),
            Ok(()),
            "just above 1.2 times"
        );
        for (params, says) in [
            (
                with(0, 10_000, 2_000),
                "the lease duration must be greater than zero",
            ),
            (
                with(15_000, 0, 2_000),
                "the renew deadline must be greater than zero",
            ),
            (
                with(15_000, 10_000, 0),
                "the retry period must be greater than zero",
            ),
            (
                with(10_000, 10_000, 2_000),
                "the lease duration (10s) must be greater than the renew deadline (10s)",
            ),
            (
                with(15_000, 2_400, 2_000),
                "the renew deadline (2.4s) must be greater than 1.2 times the retry period (2s)",
            ),
            (
                with(15_000, 10_000, u64::MAX),
                "must be greater than 1.2 times the retry period",
            ),
            (with(u64::MAX, 10_000, 2_000), "must not exceed 3600s"),
            (
                LeaseParams {
                    namespace: String::new(),
                    ..good.clone()
                },
                "the namespace must not be empty",
            ),
            (
                LeaseParams {
                    name: String::new(),
                    ..good.clone()
                },
                "the name must not be empty",
            ),
            (
                LeaseParams {
                    identity: "".into(),
                    ..good.clone()
                },
                "the identity must not be empty",
            ),
        ] {
            let error = params.validate().unwrap_err().to_string();
            assert!(error.contains(says), "{params:?}: {error}");
        }
    }

    #[test]
    fn an_identity_is_the_hosts_name_and_something_random_or_the_pods() {
        let (one, two) = (identity(None), identity(None));
        assert_ne!(one, two);
        let (host, random) = one.name().rsplit_once('_').unwrap();
        assert_eq!(host, rustix::system::uname().nodename().to_string_lossy());
        assert!(Uuid::parse_str(random).is_ok(), "{one:?}");
        let pod = identity(Some("u1"));
        assert_eq!(pod.name(), format!("{host}_u1"));
        assert!(pod.is_of_pod() && !one.is_of_pod());
    }
}
