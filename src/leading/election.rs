//! The flags of the leader election.

use std::marker::PhantomData;
use std::time::Duration;

use anyhow::Context;
use berth_lease::{Identity, LeaseParams};
use jiff::SignedDuration;

/// The flags of the leader election. The times are the defaults of a component, see [`ElectionTimes`].
#[derive(Debug, clap::Args)]
pub(crate) struct ElectionArgs<T: ElectionTimes> {
    /// Run without leader election; no other replica may run
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true",
        hide_default_value = true,
        hide_possible_values = true
    )]
    disable_leader_election: bool,
    /// How long other replicas wait for a leader that does not renew the Lease
    #[arg(long, value_name = "DURATION", default_value = T::LEASE_DURATION)]
    leader_election_lease_duration: SignedDuration,
    /// How long a leader continues that cannot renew the Lease; shorter than the lease duration
    #[arg(long, value_name = "DURATION", default_value = T::RENEW_DEADLINE)]
    leader_election_renew_deadline: SignedDuration,
    /// Time between two renewals, or between two attempts to lead
    #[arg(long, value_name = "DURATION", default_value = T::RETRY_PERIOD)]
    leader_election_retry_period: SignedDuration,
    #[arg(skip)]
    of: PhantomData<T>,
}

/// The times of a component's election: OCM's, so that its processes and ours exclude each other.
pub(crate) trait ElectionTimes: std::fmt::Debug + Send + Sync + 'static {
    /// The default of `--leader-election-lease-duration`.
    const LEASE_DURATION: &'static str;
    /// The default of `--leader-election-renew-deadline`.
    const RENEW_DEADLINE: &'static str;
    /// The default of `--leader-election-retry-period`.
    const RETRY_PERIOD: &'static str;
}

impl<T: ElectionTimes> ElectionArgs<T> {
    /// Returns the parameters of the election by this Lease, or None without an election.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(crate) fn params(
        &self,
        namespace: &str,
        lease: &str,
        identity: &Identity,
    ) -> anyhow::Result<Option<LeaseParams>> {
        if self.disable_leader_election {
            return Ok(None);
        }
        let params = LeaseParams {
            lease_duration: positive("lease-duration", self.leader_election_lease_duration)?,
            renew_deadline: positive("renew-deadline", self.leader_election_renew_deadline)?,
            retry_period: positive("retry-period", self.leader_election_retry_period)?,
            ..LeaseParams::new(namespace, lease, identity.clone())
        };
        params
            .validate()
            .context("--leader-election-lease-duration, --leader-election-renew-deadline, --leader-election-retry-period")?;
        Ok(Some(params))
    }
}

fn positive(flag: &str, duration: SignedDuration) -> anyhow::Result<Duration> {
    Duration::try_from(duration)
        .with_context(|| format!("--leader-election-{flag}: cannot be negative"))
}
