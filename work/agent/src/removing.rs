//! Removes objects that an AppliedManifestWork lists.

use berth_api::GroupVersionResource;
use berth_api::work::AppliedManifestResourceMeta;
use berth_hub::CallError;
use berth_reconcile::Handle;
use berth_work_core::{Removal, Removing, Step, kept_by};
use futures::StreamExt;

use super::MANAGED;
use super::call::{self, Path};
use super::world::Agent;

/// Upper bound on the removals at the same time.
const AT_ONCE: usize = 8;

/// Upper bound on the requests for one object.
const STEPS: usize = 16;

/// An object that is not gone yet, and why.
pub(crate) type Left = (AppliedManifestResourceMeta, String);

/// Why objects are not removed while an admin of the cluster holds their AppliedManifestWork.
const HELD: &str = "the cluster holds it";

/// Removes objects on behalf of the AppliedManifestWork of this name and UID, unless an admin of the cluster holds it. Returns those that are not gone yet, each with the reason, and an
/// error if a request got no response, or if the API server was too busy for one.
pub(crate) async fn remove_all(
    on: &Handle<Agent>,
    objects: &[AppliedManifestResourceMeta],
    (name, owner): (&str, &str),
) -> (Vec<Left>, Option<CallError>) {
    // Collected before they are polled: a stream over borrowed closures is not Send. Boxed: they are copied several times.
    let removals = objects
        .iter()
        .map(|it| Box::pin(remove(on, it, (name, owner))));
    let removals: Vec<_> = removals.collect();
    // In the order of `objects`, as `zip` needs them.
    let ended: Vec<_> = futures::stream::iter(removals)
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut pending = Vec::new();
    let mut failed = None;
    for (object, ended) in objects.iter().zip(ended) {
        match ended {
            Ok(Some(Removal::Gone)) => {}
            Ok(None) => pending.push((object.clone(), HELD.to_owned())),
            Ok(Some(Removal::Pending(finalizers))) => {
                pending.push((object.clone(), kept_by(&finalizers)));
            }
            Ok(Some(Removal::Failed(failure))) => {
                tracing::warn!(
                    resource = object.resource,
                    namespace = object.namespace,
                    name = object.name,
                    error = failure.message,
                    "an object was not removed"
                );
                pending.push((object.clone(), failure.message));
            }
            Err(error) => {
                pending.push((object.clone(), error.to_string()));
                failed = Some(error);
            }
        }
    }
    (pending, failed)
}

/// Removes an object. `None`: an admin of the cluster holds its AppliedManifestWork.
async fn remove(
    on: &Handle<Agent>,
    object: &AppliedManifestResourceMeta,
    (name, owner): (&str, &str),
) -> Result<Option<Removal>, CallError> {
    let resource = GroupVersionResource::new(
        object.group.clone(),
        object.version.clone(),
        object.resource.clone(),
    );
    let path = Path {
        resource: &resource,
        namespace: &object.namespace,
        name: &object.name,
    };
    let mut machine = Removing::new(object, owner);
    let mut response = None;
    for _ in 0..STEPS {
        let step = machine.next(response.take());
        if let Step::Done(removal) = step {
            if matches!(removal, Removal::Pending(_)) {
                tracing::debug!(
                    resource = object.resource,
                    namespace = object.namespace,
                    name = object.name,
                    "an object is being deleted"
                );
            }
            return Ok(Some(removal));
        }
        // A hold may come while other objects are removed.
        if on.world().view.keeps_objects(name) {
            return Ok(None);
        }
        match call::send_step(on.writer(MANAGED), path, &step).await? {
            // Without its kind the object does not exist either.
            Some(sent) if sent.kind_is_absent => return Ok(Some(Removal::Gone)),
            Some(sent) => response = Some(sent.response),
            None => break,
        }
    }
    Ok(Some(Removal::Pending(Box::default())))
}
