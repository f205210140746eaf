//! The CertificateSigningRequests of add-ons that wait.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use berth_addons_core::facts::Request;

use super::keys::Place;

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

    /// Why requests get no certificate, each as often as one was reported so.
    pub(super) fn reported(&self) -> impl Iterator<Item = &'static str> {
        self.by_name.values().filter_map(|it| it.reported)
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
