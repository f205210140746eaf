//! The keeper against a hub of one Secret, one Lease and two registrations, which may be hidden.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::managed::{Policy, Root};
use berth_hub::{HubApi, RequestBody};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use super::*;
use crate::{Election, Managed, Place, Registration};

const HOUR: Duration = Duration::from_secs(3600);
const SETTLE: Duration = Duration::from_millis(300);
const REGISTRATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// How the second registration is hidden.
#[derive(Clone, Copy, PartialEq)]
enum Hidden {
    No,
    /// By a proxy that does not know the page.
    ByAProxy,
    /// It is deleted.
    Deleted,
    /// The role does not allow to read it.
    Forbidden,
}

struct Objects {
    secret: Value,
    lease: Option<Value>,
    registrations: [Value; 2],
    revision: u64,
    /// What the second one is.
    second: RegistrationKind,
    hidden: Hidden,
    /// How often the second was asked for since it is hidden, and when first.
    missed: Vec<Instant>,
}

#[derive(Clone)]
struct FakeHub(Arc<Mutex<Objects>>);

impl FakeHub {
    fn new() -> Self {
        let registration = |name: &str| {
            json!({"metadata": {"name": name, "resourceVersion": "0"}, "webhooks": [{"clientConfig":
                {"service": {"name": "gate", "namespace": "hub"}}}]})
        };
        Self(Arc::new(Mutex::new(Objects {
            secret: json!({"metadata": {"name": "kept", "resourceVersion": "0"}, "type": "Opaque"}),
            lease: None,
            registrations: ["one", "two"].map(registration),
            revision: 0,
            second: RegistrationKind::Validating,
            hidden: Hidden::No,
            missed: Vec::new(),
        })))
    }

    fn api(&self) -> HubApi {
        let hub = self.clone();
        HubApi::new(service_fn(move |request: Request<RequestBody>| {
            let hub = hub.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let query = head.uri.query().unwrap_or_default();
                if query.contains("watch=true") {
                    // Nothing is told: what changes is found by looking.
                    let silent = futures::stream::pending::<Result<Frame<Bytes>, Infallible>>();
                    let body = http_body_util::StreamBody::new(silent);
                    return Ok::<_, Infallible>(Response::new(Either::Right(body)));
                }
                let (code, answer) = hub.answer(head.method.as_str(), head.uri.path(), &body);
                let body = Full::new(Bytes::from(answer));
                let response = Response::builder().status(code);
                Ok(response.body(Either::Left(body)).unwrap())
            }
        }))
    }

    fn answer(&self, method: &str, path: &str, body: &[u8]) -> (u16, String) {
        let mut objects = self.0.lock().unwrap();
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        let list = |items: &[&Value]| {
            json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string()
        };
        let absent = |name: &str, kind: &str| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "code": 404, "reason": "NotFound",
                "message": format!("{kind} {name:?} not found"), "details": {"name": name, "kind": kind}});
            (404, status.to_string())
        };
        objects.revision += 1;
        let revision = objects.revision.to_string();
        let stored = |mut object: Value| {
            object["metadata"]["resourceVersion"] = json!(revision);
            object
        };
        match (method, path) {
            (_, path) if path.contains("/leases") => {
                if method != "GET" {
                    objects.lease = Some(stored(sent));
                }
                match &objects.lease {
                    Some(lease) => (200, lease.to_string()),
                    None => absent("kept", "leases"),
                }
            }
            ("GET", "/api/v1/namespaces/hub/secrets") => (200, list(&[&objects.secret])),
            ("GET", "/api/v1/namespaces/hub/secrets/kept") => (200, objects.secret.to_string()),
            ("PUT", "/api/v1/namespaces/hub/secrets/kept") => {
                objects.secret = stored(sent);
                (200, objects.secret.to_string())
            }
            ("GET", path)
                if path == REGISTRATIONS || path.ends_with("/customresourcedefinitions") =>
            {
                (200, list(&[]))
            }
            (_, path) => {
                let which = usize::from(path.ends_with("two"));
                if which == 1 && objects.hidden != Hidden::No {
                    objects.missed.push(Instant::now());
                    return match objects.hidden {
                        Hidden::ByAProxy => (404, "<html>no such page</html>".to_owned()),
                        Hidden::Forbidden => {
                            let status = json!({"kind": "Status", "apiVersion": "v1", "code": 403,
                                "reason": "Forbidden", "message": "no rule allows it"});
                            (403, status.to_string())
                        }
                        _ => absent("two", "validatingwebhookconfigurations"),
                    };
                }
                if method == "PATCH" {
                    let bundle = sent[1]["value"].clone();
                    let mut object = stored(objects.registrations[which].clone());
                    object["webhooks"][0]["clientConfig"]["caBundle"] = bundle;
                    objects.registrations[which] = object;
                }
                (200, objects.registrations[which].to_string())
            }
        }
    }

    fn hide(&self, hidden: Hidden) {
        let mut objects = self.0.lock().unwrap();
        objects.hidden = hidden;
        objects.missed.clear();
    }

    fn leaf(&self) -> String {
        let secret = self.0.lock().unwrap().secret.clone();
        secret["data"]["tls.crt"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Authorities of each registration.
    fn roots(&self) -> [usize; 2] {
        let registrations = self.0.lock().unwrap().registrations.clone();
        registrations.map(|it| {
            let bundle = it["webhooks"][0]["clientConfig"]["caBundle"]
                .as_str()
                .unwrap_or_default();
            Root::all_in(&BASE64_STANDARD.decode(bundle).unwrap()).len()
        })
    }

    fn missed(&self) -> Vec<Instant> {
        self.0.lock().unwrap().missed.clone()
    }

    /// Keeps certificates whose authorities last so long.
    fn keep(&self, ca_validity: Duration) -> Kept {
        self.keep_on(&Handle::current(), ca_validity)
    }

    /// As [`Self::keep`], elected on this runtime.
    fn keep_on(&self, on: &Handle, ca_validity: Duration) -> Kept {
        let second = self.0.lock().unwrap().second;
        let settings = Settings {
            identity: "one".to_owned(),
            registrations: [("one", RegistrationKind::Validating), ("two", second)]
                .map(|(name, kind)| Registration {
                    kind,
                    name: name.to_owned(),
                })
                .into(),
            policy: Policy {
                dns_names: vec!["gate.hub.svc".to_owned()],
                ip_addresses: vec![],
                ca_validity,
                leaf_validity: HOUR,
                settle: SETTLE,
            },
        };
        let place = Place {
            namespace: "hub".to_owned(),
            name: "kept".to_owned(),
        };
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&events);
        let observer = Observer::new(move |event| told.lock().unwrap().push(event.clone()));
        let election = Election {
            on: on.clone(),
            hub: self.api(),
        };
        let managed = Managed::keeper(self.api(), place, settings, election, observer).unwrap();
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let stop = stop.clone();
            async move { managed.run(stop).await.unwrap() }
        });
        Kept { stop, task, events }
    }
}

struct Kept {
    stop: CancellationToken,
    task: JoinHandle<()>,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Kept {
    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

async fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// A hub with certificates, whose authority is due for renewal by the next keeper.
async fn begun() -> (FakeHub, String) {
    let hub = FakeHub::new();
    let kept = hub.keep(100 * HOUR);
    eventually("certificates are made and published", || {
        !hub.leaf().is_empty() && hub.roots() == [1, 1]
    })
    .await;
    kept.stop().await;
    let leaf = hub.leaf();
    (hub, leaf)
}

#[test]
fn the_lease_is_renewed_while_the_work_is_held_up() {
    let [elections, own] = [(), ()].map(|()| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().build().unwrap()
    });
    let hub = FakeHub::new();
    let renewed = || {
        let lease = hub.0.lock().unwrap().lease.clone();
        lease.map(|it| it["spec"]["renewTime"].clone())
    };
    let kept = own.block_on(async {
        let kept = hub.keep_on(elections.handle(), 100 * HOUR);
        eventually("certificates are made", || !hub.leaf().is_empty()).await;
        kept
    });
    let (free, freed) = std::sync::mpsc::channel::<()>();
    let (hold, held) = std::sync::mpsc::channel();
    // The only worker, which also drives the timers of its runtime.
    own.spawn(async move {
        hold.send(()).unwrap();
        let _ = freed.recv();
    });
    held.recv().unwrap();
    let before = renewed();
    let end = Instant::now() + Duration::from_secs(20);
    while renewed() == before {
        assert!(Instant::now() < end, "the Lease is not renewed");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(free);
    own.block_on(kept.stop());
}

#[tokio::test]
async fn a_registration_behind_a_proxys_page_holds_up_the_rotation() {
    let (hub, leaf) = begun().await;
    hub.hide(Hidden::ByAProxy);
    let kept = hub.keep(4 * HOUR);
    eventually(
        "the new authority is in the registration that can be read",
        || hub.roots() == [2, 1],
    )
    .await;
    eventually("longer than it settles", || {
        let missed = hub.missed();
        missed
            .first()
            .is_some_and(|first| first.elapsed() > 3 * SETTLE)
            && missed.len() > 3
    })
    .await;
    assert_eq!(
        hub.leaf(),
        leaf,
        "the second registration does not trust another one"
    );
    assert!(!kept.events.lock().unwrap().contains(&Event::Absent(1)));

    hub.hide(Hidden::No);
    eventually("it rotates once both have the new authority", || {
        hub.leaf() != leaf
    })
    .await;
    assert_eq!(hub.roots(), [2, 2]);
    kept.stop().await;
}

#[tokio::test]
async fn certificates_rotate_without_a_registration_that_was_left_out() {
    let (hub, leaf) = begun().await;
    hub.hide(Hidden::Deleted);
    let kept = hub.keep(4 * HOUR);
    eventually("it rotates", || hub.leaf() != leaf).await;
    let waited = hub.missed()[0].elapsed();
    assert!(
        waited >= 2 * SETTLE,
        "it waits for the registration, and then for API servers: {waited:?}"
    );
    assert!(kept.events.lock().unwrap().contains(&Event::Absent(1)));

    // It is applied again, with the bundle that somebody stored.
    hub.hide(Hidden::No);
    assert_eq!(hub.roots(), [2, 1]);
    kept.stop().await;
    let kept = hub.keep(4 * HOUR);
    eventually("it gets the bundle", || hub.roots() == [2, 2]).await;
    kept.stop().await;
}

#[tokio::test]
async fn certificates_rotate_with_the_role_of_a_former_version() {
    for (kind, rotates) in [
        (RegistrationKind::Conversion, true),
        (RegistrationKind::Validating, false),
    ] {
        let (hub, leaf) = begun().await;
        hub.0.lock().unwrap().second = kind;
        hub.hide(Hidden::Forbidden);
        let kept = hub.keep(4 * HOUR);
        if rotates {
            eventually("it rotates", || hub.leaf() != leaf).await;
        } else {
            eventually("longer than it settles", || {
                let missed = hub.missed();
                let first = missed.first();
                first.is_some_and(|first| first.elapsed() > 3 * SETTLE) && missed.len() > 3
            })
            .await;
            assert_eq!(hub.leaf(), leaf, "{kind:?}");
        }
        kept.stop().await;
    }
}
