//! CertificateSigningRequests of add-ons: which of them wait, and the work on one of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use berth_addons_core::facts::Request;
use berth_addons_core::registration::remedies;
use berth_addons_core::registration::requests::{Step, step};
use berth_api::certificate_request::{CertificateRequest, target};
use berth_api::plan::{Event, Write};
use berth_api::text::shorten;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Reference, Regarding, WriteOutcome, failed};
use serde_json::json;

use super::keys::Place;
use super::kinds::Kind;
use super::signing;
use super::world::AddOns;

/// Nothing is due until the key is woken.
const SETTLED: Next = Next::Settled {
    again: None,
    pause: None,
};

/// The path of the review that says who asks.
const SELF_SUBJECT_REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// Upper bound on the bytes of a request's name in a text.
const LONGEST_NAME: usize = 150;

/// The outcome of a request that the hub may not approve or sign.
const FORBIDDEN: &str = "Forbidden";

/// The requests for which something may be due.
#[derive(Debug, Default)]
pub(super) struct Requests {
    by_name: HashMap<String, Entry>,
    /// By cluster and add-on, as their labels say.
    of: BTreeMap<Place, BTreeSet<String>>,
}

#[derive(Debug)]
struct Entry {
    request: Request,
    /// Why it gets no certificate, as reported.
    reported: Option<&'static str>,
}

// === impl Requests ===

impl Requests {
    /// Applies a request, or its end. What was reported of it stays known.
    pub(super) fn set(&mut self, name: &str, request: Option<Request>) {
        let old = self.by_name.remove(name);
        if let Some(old) = &old {
            let at = place_of(&old.request);
            if let Some(names) = self.of.get_mut(&at) {
                names.remove(name);
                if names.is_empty() {
                    self.of.remove(&at);
                }
            }
        }
        let Some(request) = request else {
            return;
        };
        let names = self.of.entry(place_of(&request)).or_default();
        names.insert(name.to_owned());
        let reported = old.filter(|it| it.request == request);
        let reported = reported.and_then(|it| it.reported);
        let entry = Entry { request, reported };
        self.by_name.insert(name.to_owned(), entry);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Request> {
        self.by_name.get(name).map(|it| &it.request)
    }

    /// The requests with the labels of a cluster and an add-on.
    pub(super) fn of(&self, at: &Place) -> impl Iterator<Item = &String> {
        self.of.get(at).into_iter().flatten()
    }

    /// The requests with the label of an add-on.
    pub(super) fn of_add_on<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a String> {
        let of = self.of.iter().filter(move |((_, it), _)| it == name);
        of.flat_map(|(_, names)| names)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }

    /// Notes why a request gets no certificate. Returns true if that was not reported yet.
    pub(super) fn report(&mut self, name: &str, why: &'static str) -> bool {
        let entry = self.by_name.get_mut(name);
        entry.is_some_and(|it| it.reported.replace(why) != Some(why))
    }
}

fn place_of(request: &Request) -> Place {
    (request.cluster.clone(), request.addon.clone())
}

/// Works on a request: reads it, approves it or reports why not.
pub(super) async fn reconcile(on: &Handle<AddOns>, name: &str) -> Next {
    if !on.world().judges(name) {
        return SETTLED;
    }
    // Not every role that grants list grants get.
    let object = match on.writer(0).find(&target(name)).await {
        Ok(Some(object)) => object,
        // The watch will report that it is gone.
        Ok(None) => return SETTLED,
        Err(refusal) => {
            let (code, error) = (refusal.code, refusal.message);
            tracing::warn!(csr = name, code, error, "a CSR cannot be read; retrying");
            let wait = refusal.retry_after;
            return Next::Failed { wait };
        }
    };
    let Ok(Some((kept, stored))) = Request::with_content(object.item().json) else {
        return SETTLED;
    };
    // The watch may be late, and reports are about this object.
    on.observed(Kind::Request, &object);
    let step = {
        let world = on.world();
        match world.view.judged(&kept) {
            Some(facts) => step(&stored, kept.is_approved, &facts),
            None => Step::Nothing,
        }
    };
    match step {
        Step::Nothing => SETTLED,
        Step::Approve(write) => write_or_say(on, &stored, *write, "approve").await,
        Step::Sign(ca) => match signing::sign(on, &stored, &ca, account(on)).await {
            Ok(write) => write_or_say(on, &stored, write, "sign").await,
            Err((reason, why)) => {
                let name = shorten(&stored.name, LONGEST_NAME);
                let note = format!(
                    "CertificateSigningRequest {name:?} gets no certificate from the hub: {why}"
                );
                report(on, &stored, reason, note);
                Next::Failed { wait: None }
            }
        },
        Step::Leave { reason, note } => {
            report(on, &stored, reason, note);
            SETTLED
        }
    }
}

/// Writes an approval or a certificate. If the hub may not, says what it needs.
async fn write_or_say(
    on: &Handle<AddOns>,
    stored: &CertificateRequest,
    write: Write,
    verb: &'static str,
) -> Next {
    match on.carry_out(vec![write]).await {
        WriteOutcome::Failed(failures) => {
            if let Some((failure, _)) = failures.iter().find(|(it, _)| it.code == 403) {
                let account = account(on).await;
                let (name, signer) = (&*stored.name, &*stored.signer);
                let note = remedies::of_signer(name, signer, verb, &failure.message, &account);
                report(on, stored, FORBIDDEN, note);
            }
            failed(&failures)
        }
        WriteOutcome::Nothing | WriteOutcome::Written => {
            let outcome = if verb == "sign" { "signed" } else { "approved" };
            on.world().metrics.request_decided(outcome);
            SETTLED
        }
    }
}

/// The user that this controller is to the hub; empty if the hub does not say.
async fn account(on: &Handle<AddOns>) -> String {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = on.writer(0).post(SELF_SUBJECT_REVIEWS, &review).await;
    let user = answer.ok().and_then(|it| {
        let user = &it["status"]["userInfo"]["username"];
        user.as_str().map(str::to_owned)
    });
    user.unwrap_or_default()
}

/// Reports once why a request gets no certificate: in the log, as a metric, and as an Event about the request.
fn report(on: &Handle<AddOns>, stored: &CertificateRequest, why: &'static str, note: String) {
    let is_new = {
        let mut world = on.world();
        let is_new = world.view.requests.report(&stored.name, why);
        if is_new {
            world.metrics.request_decided(why);
        }
        is_new
    };
    if !is_new {
        return;
    }
    tracing::info!(
        csr = stored.name,
        reason = why,
        note,
        "a CSR of an add-on gets no certificate"
    );
    let regarding = Regarding {
        api_version: "certificates.k8s.io/v1".to_owned(),
        kind: "CertificateSigningRequest".to_owned(),
        metadata: Reference {
            name: stored.name.clone(),
            namespace: None,
            uid: stored.metadata.uid.clone(),
            resource_version: stored.metadata.resource_version.clone(),
        },
    };
    let event = Event {
        warning: true,
        reason: "AddOnCSRNotApproved",
        note,
        namespace: None,
    };
    on.tell(0, &event, &regarding);
}
