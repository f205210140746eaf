//! From a kind to its resource: what the managed cluster's API server serves.
//!
//! # Guarantees
//! - One request for each group and version in use. The response is kept until a CustomResourceDefinition of the group changes, or until
//!   the API server says that it does not serve the resource any more.
//! - A kind that is not served costs at most one request in [`RETRY`], however many manifests name it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_api::GroupVersionResource;
use berth_hub::{Call, segment};
use berth_reconcile::{Refusal, Writer, now};
use serde::Deserialize;

/// How long a response counts for a kind that it does not name.
const RETRY: Duration = Duration::from_secs(30);

/// Upper bound on the responses that are kept.
const MOST: usize = 256;

/// The resource of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mapped {
    pub(crate) resource: GroupVersionResource,
    pub(crate) is_namespaced: bool,
}

/// A kind without a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unmapped {
    /// The API server does not serve it.
    NotServed,
    /// The API server did not respond, or refused.
    Unknown(String),
}

/// The resources that are known.
#[derive(Debug, Default)]
pub(crate) struct Mapping(Mutex<HashMap<GroupVersion, Served>>);

type GroupVersion = (Box<str>, Box<str>);

/// What a group serves in a version, by kind.
#[derive(Debug)]
struct Served {
    at: Instant,
    kinds: HashMap<Box<str>, (Box<str>, bool)>,
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: Box<str>,
    kind: Box<str>,
    #[serde(default)]
    namespaced: bool,
}

// === impl Mapping ===

impl Mapping {
    /// The resource of a kind.
    ///
    /// # Errors
    /// It is not served, or the API server cannot be asked.
    pub(crate) async fn of(
        &self,
        cluster: &Writer,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<Mapped, Unmapped> {
        if let Some(known) = self.known(group, version, kind) {
            return known;
        }
        let kinds = served(cluster, group, version)
            .await
            .map_err(|refusal| Unmapped::Unknown(refusal.message))?;
        let mut all = self.lock();
        if all.len() >= MOST {
            all.clear();
        }
        let at = now().instant;
        all.insert((group.into(), version.into()), Served { at, kinds });
        drop(all);
        self.known(group, version, kind)
            .unwrap_or(Err(Unmapped::NotServed))
    }

    /// Asks anew for the kinds of this group.
    pub(crate) fn forget(&self, group: &str) {
        self.lock().retain(|(of, _), _| &**of != group);
    }

    fn known(&self, group: &str, version: &str, kind: &str) -> Option<Result<Mapped, Unmapped>> {
        let all = self.lock();
        let served = all.get(&(group.into(), version.into()))?;
        match served.kinds.get(kind) {
            Some((resource, is_namespaced)) => Some(Ok(Mapped {
                resource: GroupVersionResource::new(
                    group.to_owned(),
                    version.to_owned(),
                    resource.to_string(),
                ),
                is_namespaced: *is_namespaced,
            })),
            None if served.at.elapsed() < RETRY => Some(Err(Unmapped::NotServed)),
            None => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<GroupVersion, Served>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kinds of a group and version. None, if the API server does not serve it.
async fn served(
    cluster: &Writer,
    group: &str,
    version: &str,
) -> Result<HashMap<Box<str>, (Box<str>, bool)>, Refusal> {
    let version = segment(version);
    let path = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{}/{version}", segment(group)),
    };
    let list: ResourceList = match cluster.send(Call::get(path)).await {
        Ok(answer) => answer.json()?,
        Err(error) if error.kind_is_absent() => return Ok(HashMap::new()),
        Err(error) => return Err(error.into()),
    };
    let resources = list.resources.into_iter();
    // A subresource is named after its resource, and may have its kind.
    let resources = resources.filter(|it| !it.name.contains('/'));
    Ok(resources
        .map(|it| (it.kind, (it.name, it.namespaced)))
        .collect())
}
