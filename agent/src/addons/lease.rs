//! The Lease that the agent of an add-on renews.

use std::convert::Infallible;

use berth_agent_core::addons::Place;
use berth_agent_core::addons::health::Lease;
use berth_api::GroupVersionResource;
use berth_hub::HubApi;
use berth_reconcile::{Item, Watched, follow_one};
use serde::Deserialize;
use tracing::{debug, warn};

use super::AddonWork;

/// Follows the Lease of an add-on on the cluster that its agent runs in.
pub(super) async fn follow(
    api: &HubApi,
    addon: &str,
    place: &Place,
    work: &AddonWork,
) -> Infallible {
    let kind = GroupVersionResource::new("coordination.k8s.io", "v1", "leases");
    let row = Watched::new("leases", kind, read)
        .within(place.namespace.as_str())
        .named(addon);
    let mut has_failed = false;
    follow_one(api, &row, |found| {
        let lease = match found {
            Ok(found) => found.unwrap_or(Lease::Absent),
            // What was read before is still true, as far as the agent knows.
            Err(error) if has_failed => return debug!(addon, %error, "the Lease cannot be read"),
            Err(error) => {
                has_failed = true;
                return warn!(addon, %error, "the Lease of an add-on cannot be read; trying again");
            }
        };
        has_failed = false;
        work.change(|world, wakes| world.renewed(addon, place, lease, wakes));
    })
    .await
}

/// A time that cannot be read counts as none.
fn read(item: &Item<'_>) -> Result<Lease, serde_json::Error> {
    #[derive(Deserialize)]
    struct Stored {
        #[serde(default)]
        spec: Option<Spec>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        #[serde(default)]
        renew_time: Option<String>,
    }
    let stored: Stored = item.parse()?;
    let time = stored.spec.and_then(|it| it.renew_time);
    Ok(Lease::Renewed(time.and_then(|it| it.parse().ok())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_without_a_renewal_is_not_an_error() {
        for (spec, expected) in [
            ("{}", None),
            (r#"{"spec": null}"#, None),
            (r#"{"spec": {"renewTime": null}}"#, None),
            (r#"{"spec": {"renewTime": "yesterday"}}"#, None),
            (
                r#"{"spec": {"renewTime": "2026-01-02T03:04:05.000006Z"}}"#,
                Some("2026-01-02T03:04:05.000006Z"),
            ),
        ] {
            let json = spec.replacen('{', r#"{"metadata": {"name": "x"},"#, 1);
            let json = json.replace(",}", "}");
            let item = Item::read(json.as_bytes()).unwrap();
            let expected = expected.map(|it| it.parse().unwrap());
            assert_eq!(read(&item).unwrap(), Lease::Renewed(expected), "{spec}");
        }
    }
}
