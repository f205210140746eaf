//! Works of add-ons. The numbers of scenarios are those of OCM's behaviour that the tests follow.

mod digests;
mod hooks;
mod laws;
mod layouts;
mod written;

use berth_api::ManifestWork;
use berth_api::work::{Manifest, ManifestWorkSpec, ManifestsTemplate};
use serde_json::{Map, Value, json};

use super::{Layout, Place, Request, TooLarge, Work, layout};
use crate::object::Key;
use crate::template::Rendered;

const KIB: usize = 1024;

/// A ConfigMap whose manifest has about so many bytes.
fn config_map(name: &str, bytes: usize) -> Rendered {
    rendered(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n"},
        "data": {"k": "v".repeat(bytes)},
    }))
}

fn rendered(object: Value) -> Rendered {
    Rendered {
        object,
        undecorated: None,
    }
}

/// The works of the add-on `x`, as they are stored.
fn stored(layout: &Layout) -> Vec<ManifestWork> {
    layout.works.iter().map(stored_work).collect()
}

fn stored_work(work: &Work) -> ManifestWork {
    let mut stored = ManifestWork::new(&work.name, work.spec.clone());
    stored.metadata.uid = Some(format!("uid-{}", work.name));
    stored.metadata.resource_version = Some("7".to_owned());
    stored.metadata.labels = Some(work.labels.clone());
    stored.metadata.annotations = Some(work.annotations.clone());
    stored
}

/// A stored work with these manifests.
fn stored_as(name: &str, manifests: &[Value]) -> ManifestWork {
    let manifests = manifests.iter().map(|it| Manifest::new(it).unwrap());
    let spec = ManifestWorkSpec {
        workload: ManifestsTemplate {
            manifests: manifests.collect(),
        },
        ..ManifestWorkSpec::default()
    };
    let mut work = ManifestWork::new(name, spec);
    work.metadata.uid = Some(format!("uid-{name}"));
    work
}

/// The layout of objects of the add-on `x` on its cluster.
fn laid_out(objects: &[Rendered], existing: &[ManifestWork]) -> Result<Layout, TooLarge> {
    layout(&Request {
        addon: "x",
        place: Place::Deploy,
        objects,
        manifest_configs: &[],
        configs: &[],
        existing,
    })
}

/// The works with the names of their objects.
fn names(layout: &Layout) -> Vec<(String, Vec<String>)> {
    let of = |work: &Work| {
        let manifests = &work.spec.workload.manifests;
        let names = manifests.iter().map(|it| key(it).name).collect();
        (work.name.clone(), names)
    };
    layout.works.iter().map(of).collect()
}

fn key(manifest: &Manifest) -> Key {
    Key::of(&manifest.read::<Map<String, Value>>().unwrap())
}
