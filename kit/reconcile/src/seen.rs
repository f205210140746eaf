//! The versions of objects that have been seen, so that a late report does not undo a newer one.
//!
//! # Guarantees
//! - The response to a write of this controller counts at once. No older watch event undoes it. A response that is older than
//!   what the watch has reported is ignored: the object may have been deleted since.
//! - A list counts over everything that was known when it began, even with lower versions: the storage may have been restored
//!   to an earlier state. Only responses to calls of this controller since then are newer.
//! - An object that a list does not name is gone, unless a part of the list could not be read.
//! - After [`Seen::reread`], unchanged objects count as news once more, in the next list that is read to its end.
//!
//! # Assumptions
//! The resourceVersions of a kind are numbers that grow. A list is no older than the call for it, as a list without a requested
//! resourceVersion is.

use std::collections::HashMap;
use std::hash::Hash;

use crate::object::Meta;

/// The source of a report about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A list, or the watch after it, which reports all changes of a kind in their order.
    Watch,
    /// The response to a write of this controller.
    Write,
    /// The response to a read of this controller.
    Read,
    /// The response to a read of an object that the watch leaves out, such as one without the label: what the watch reported says nothing of
    /// it.
    Beside,
}

/// The versions of all objects, by kind.
#[derive(Debug)]
pub struct Seen<K> {
    kinds: HashMap<K, Objects>,
}

#[derive(Debug, Default)]
struct Objects {
    /// By `namespace/name`.
    known: HashMap<Box<str>, Known>,
    /// The newest version that the watch reported.
    newest: u64,
    /// The newest version that anything reported.
    highest: u64,
    /// The number of lists that have begun. By it, reports since then are known.
    lists: u32,
    is_listing: bool,
    /// The next list reports unchanged objects, too.
    reread: bool,
    /// The current list does, or will when it is begun again.
    is_rereading: bool,
    /// A part of the current list could not be read. It may be an object that the list seems not to name.
    is_partial: bool,
    /// A list was read to its end.
    is_listed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    version: Option<u64>,
    /// The list during which it was last seen.
    seen: u32,
    /// The list during which a response to a call of this controller last had it. 0: never during a list.
    own: u32,
}

// === impl Seen ===

impl<K: Copy + Eq + Hash> Seen<K> {
    /// Notes that a list of this kind begins.
    pub fn listing(&mut self, kind: K) {
        let objects = self.kinds.entry(kind).or_default();
        objects.lists = objects.lists.wrapping_add(1).max(1);
        objects.is_listing = true;
        objects.is_partial = false;
        objects.is_rereading |= std::mem::take(&mut objects.reread);
    }

    /// Makes all objects news in the next list that begins: more of them is kept than before. Not in the current list, of which a part
    /// was read before.
    pub fn reread(&mut self, kind: K) {
        self.kinds.entry(kind).or_default().reread = true;
    }

    /// Returns true if a list of this kind has begun and not ended.
    pub fn is_listing(&self, kind: K) -> bool {
        self.kinds.get(&kind).is_some_and(|of| of.is_listing)
    }

    /// Notes that an object of this kind could not be read, not even its name.
    pub fn unreadable(&mut self, kind: K) {
        self.kinds.entry(kind).or_default().is_partial = true;
    }

    /// Notes the end of a list of this kind, of this version. Returns the objects that are gone, by namespace and name.
    pub fn listed(&mut self, kind: K, version: Option<u64>) -> Vec<(Box<str>, Box<str>)> {
        let objects = self.kinds.entry(kind).or_default();
        if !std::mem::take(&mut objects.is_listing) {
            return Vec::new();
        }
        objects.is_listed = true;
        objects.is_rereading = false;
        let versions = objects.known.values().filter_map(|known| known.version);
        objects.newest = version.or_else(|| versions.max()).unwrap_or_default();
        objects.highest = objects.highest.max(objects.newest);
        let mut gone = Vec::new();
        if !objects.is_partial {
            let lists = objects.lists;
            objects.known.retain(|place, known| {
                let stays = known.seen == lists;
                if !stays {
                    gone.extend(place.split_once('/').map(|(a, b)| (a.into(), b.into())));
                }
                stays
            });
        }
        gone
    }

    /// Returns true if a list of this kind was read to its end.
    pub fn is_listed(&self, kind: K) -> bool {
        self.kinds.get(&kind).is_some_and(|of| of.is_listed)
    }

    /// Returns true if an object has been seen, and is not gone.
    pub fn has(&self, kind: K, namespace: &str, name: &str) -> bool {
        let objects = self.kinds.get(&kind);
        objects.is_some_and(|it| it.known.contains_key(&place(namespace, name)))
    }

    /// Notes a version of an object. Returns false if it was known, or is older than the known one.
    pub fn is_news(&mut self, kind: K, meta: &Meta, source: Source) -> bool {
        let objects = self.kinds.entry(kind).or_default();
        let (version, is_own) = (meta.version(), source != Source::Watch);
        // The watch has reported this version, and perhaps the object's deletion.
        let is_of_watch = is_own && source != Source::Beside;
        if is_of_watch && version.is_some_and(|version| version <= objects.newest) {
            return false;
        }
        let place = place(&meta.namespace, &meta.name);
        let old = objects.known.get(&place).copied();
        let of_list = objects.is_listing && !is_own;
        let is_newer = match (old.and_then(|old| old.version), version) {
            // A list counts, unless a call since it began is newer.
            (Some(old_version), Some(version))
                if of_list && old.is_none_or(|old| old.own != objects.lists) =>
            {
                old_version != version || objects.is_rereading
            }
            (Some(old), Some(version)) => old < version,
            _ => true,
        };
        let kept = if is_newer {
            version
        } else {
            old.and_then(|old| old.version)
        };
        let own = if is_own && objects.is_listing && is_newer {
            objects.lists
        } else {
            old.map_or(0, |old| old.own)
        };
        let known = Known {
            version: kept,
            seen: objects.lists,
            own,
        };
        objects.known.insert(place, known);
        objects.highest = objects.highest.max(version.unwrap_or_default());
        if let (Source::Watch, false, Some(version)) = (source, objects.is_listing, version) {
            objects.newest = objects.newest.max(version);
        }
        is_newer
    }

    /// Returns true if the watch reports a version that is known, as it does after each write of this controller, and notes that
    /// report. The caller need not read the object then. Always false while a list is read: a list counts though its versions may be
    /// lower.
    pub fn is_known(&mut self, kind: K, meta: &Meta, source: Source) -> bool {
        let Some(objects) = self.kinds.get(&kind) else {
            return false;
        };
        if source != Source::Watch || objects.is_listing {
            return false;
        }
        let known = objects.known.get(&place(&meta.namespace, &meta.name));
        let known = known.and_then(|known| known.version);
        let is_known = known.is_some_and(|known| meta.version().is_some_and(|it| it <= known));
        is_known && !self.is_news(kind, meta, source)
    }

    /// Notes a deletion that the watch reports. Returns false if the object was not known, or has been created again since.
    pub fn is_gone(&mut self, kind: K, meta: &Meta) -> bool {
        let objects = self.kinds.entry(kind).or_default();
        let place = place(&meta.namespace, &meta.name);
        if let Some(version) = meta.version() {
            objects.newest = objects.newest.max(version);
            let known = objects.known.get(&place).and_then(|known| known.version);
            if known.is_some_and(|known| known > version) {
                return false;
            }
        }
        objects.known.remove(&place).is_some()
    }

    /// The newest version of this kind that anything reported.
    pub fn highest(&self, kind: K) -> u64 {
        self.kinds.get(&kind).map_or(0, |of| of.highest)
    }

    /// Notes that a call found an object absent. `before`: [`Seen::highest`] before the call. Returns false if the object has
    /// been reported since: then it may have been created again, and if not, the watch will say so.
    pub fn is_absent(&mut self, kind: K, namespace: &str, name: &str, before: u64) -> bool {
        let Some(objects) = self.kinds.get_mut(&kind) else {
            return true;
        };
        let place = place(namespace, name);
        let known = objects.known.get(&place).and_then(|known| known.version);
        let is_absent = known.is_none_or(|known| known <= before);
        if is_absent {
            objects.known.remove(&place);
        }
        is_absent
    }

    /// Removes a kind. Returns its objects, by namespace and name.
    pub fn forget(&mut self, kind: K) -> Vec<(Box<str>, Box<str>)> {
        let known = self.kinds.remove(&kind).unwrap_or_default().known;
        let places = known.keys().filter_map(|place| place.split_once('/'));
        places.map(|(a, b)| (a.into(), b.into())).collect()
    }
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Self {
            kinds: HashMap::new(),
        }
    }
}

/// The key of an object. Names have no slash.
fn place(namespace: &str, name: &str) -> Box<str> {
    [namespace, "/", name].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: () = ();

    fn meta(name: &str, version: u64) -> Meta {
        Meta {
            name: name.to_owned(),
            resource_version: version.to_string(),
            ..Meta::default()
        }
    }

    /// What is known after a list of these, at this version.
    fn listed(objects: &[(&str, u64)], version: u64) -> Seen<()> {
        let mut seen = Seen::default();
        seen.listing(KIND);
        for (name, version) in objects {
            assert!(seen.is_news(KIND, &meta(name, *version), Source::Watch));
        }
        assert!(!seen.is_listed(KIND));
        assert_eq!(seen.listed(KIND, Some(version)), []);
        assert!(seen.is_listed(KIND));
        seen
    }

    #[test]
    fn an_own_write_counts_at_once_and_stays() {
        let mut seen = listed(&[("a", 5)], 5);
        assert!(seen.is_news(KIND, &meta("a", 8), Source::Write));
        for late in [6, 8] {
            assert!(
                seen.is_known(KIND, &meta("a", late), Source::Watch),
                "{late}"
            );
            assert!(
                !seen.is_news(KIND, &meta("a", late), Source::Watch),
                "{late}"
            );
        }
        assert!(!seen.is_known(KIND, &meta("a", 9), Source::Watch));
        assert!(seen.is_news(KIND, &meta("a", 9), Source::Watch));
    }

    #[test]
    fn what_the_watch_leaves_out_may_be_older_than_what_it_reported() {
        let mut seen = listed(&[("a", 5)], 9);
        assert!(!seen.is_news(KIND, &meta("b", 3), Source::Read));
        assert!(seen.is_news(KIND, &meta("b", 3), Source::Beside));
        assert!(!seen.is_news(KIND, &meta("b", 3), Source::Beside));
        assert!(seen.is_news(KIND, &meta("b", 10), Source::Watch));
    }

    #[test]
    fn only_what_the_watch_reports_outside_of_a_list_is_passed_over_unread() {
        let mut seen = listed(&[("a", 5)], 5);
        assert!(seen.is_known(KIND, &meta("a", 5), Source::Watch));
        assert!(!seen.is_known(KIND, &meta("b", 5), Source::Watch));
        assert!(!seen.is_known(KIND, &meta("a", 5), Source::Read));
        assert!(!seen.is_known(
            KIND,
            &Meta {
                resource_version: "x".to_owned(),
                ..meta("a", 5)
            },
            Source::Watch
        ));
        seen.listing(KIND);
        assert!(!seen.is_known(KIND, &meta("a", 5), Source::Watch));
        assert!(!Seen::default().is_known(KIND, &meta("a", 5), Source::Watch));
    }

    #[test]
    fn a_report_that_is_passed_over_counts_as_the_newest() {
        let mut seen = listed(&[("a", 5), ("b", 5)], 5);
        assert!(seen.is_news(KIND, &meta("a", 8), Source::Write));
        assert!(seen.is_known(KIND, &meta("a", 8), Source::Watch));
        assert!(
            !seen.is_news(KIND, &meta("b", 7), Source::Read),
            "b was deleted since"
        );
    }

    #[test]
    fn a_late_answer_brings_nothing_back() {
        let mut seen = listed(&[("a", 5)], 5);
        assert!(seen.is_gone(KIND, &meta("a", 9)));
        for source in [Source::Write, Source::Read] {
            assert!(!seen.is_news(KIND, &meta("a", 8), source));
            assert!(!seen.is_news(KIND, &meta("a", 9), source));
        }
        assert!(seen.is_news(KIND, &meta("a", 10), Source::Write));
        assert!(!seen.is_gone(KIND, &meta("a", 9)), "it was created anew");
    }

    #[test]
    fn what_a_list_does_not_name_is_gone_but_for_what_was_written_since_it_began() {
        let mut seen = listed(&[("a", 5), ("b", 5), ("c", 5)], 5);
        seen.listing(KIND);
        assert!(!seen.is_news(KIND, &meta("a", 5), Source::Watch));
        assert!(seen.is_news(KIND, &meta("b", 9), Source::Write));
        assert!(seen.is_news(KIND, &meta("d", 10), Source::Write));
        assert!(
            !seen.is_news(KIND, &meta("b", 7), Source::Watch),
            "the list is older"
        );
        assert_eq!(seen.listed(KIND, Some(8)), [("".into(), "c".into())]);
        assert!(seen.has(KIND, "", "d") && !seen.has(KIND, "", "c"));
    }

    #[test]
    fn a_late_absence_removes_nothing_that_was_reported_since_the_call() {
        let mut seen = listed(&[("a", 5), ("b", 5)], 5);
        assert!(seen.is_news(KIND, &meta("b", 8), Source::Write));
        let before = seen.highest(KIND);
        assert_eq!(before, 8);
        assert!(seen.is_absent(KIND, "", "b", before));
        assert!(!seen.has(KIND, "", "b"));
        // While the call was on its way, the watch reported the deletion and another object of that name.
        assert!(seen.is_gone(KIND, &meta("a", 9)));
        assert!(seen.is_news(KIND, &meta("a", 10), Source::Watch));
        assert!(!seen.is_absent(KIND, "", "a", before));
        assert!(seen.has(KIND, "", "a"));
        assert!(seen.is_absent(KIND, "", "a", seen.highest(KIND)));
    }

    #[test]
    fn a_list_of_a_restored_storage_counts_though_its_versions_are_lower() {
        let mut seen = listed(&[("a", 100), ("b", 101), ("c", 102)], 110);
        assert!(
            seen.is_news(KIND, &meta("b", 120), Source::Write),
            "before the restore"
        );
        seen.listing(KIND);
        assert!(seen.is_news(KIND, &meta("a", 40), Source::Watch));
        assert!(
            seen.is_news(KIND, &meta("b", 41), Source::Watch),
            "an own write of before counts no more"
        );
        assert_eq!(seen.listed(KIND, Some(50)), [("".into(), "c".into())]);
        assert!(seen.is_news(KIND, &meta("a", 51), Source::Watch));
        assert!(seen.is_news(KIND, &meta("b", 52), Source::Write));
        assert!(!seen.is_news(KIND, &meta("b", 51), Source::Read));
    }

    #[test]
    fn while_part_of_a_list_cannot_be_read_nothing_counts_as_gone() {
        let mut seen = listed(&[("a", 5), ("b", 5)], 5);
        seen.listing(KIND);
        seen.unreadable(KIND);
        assert!(!seen.is_news(KIND, &meta("a", 5), Source::Watch));
        assert_eq!(seen.listed(KIND, Some(9)), []);
        seen.listing(KIND);
        let mut gone = seen.listed(KIND, Some(9));
        gone.sort();
        assert_eq!(gone, [("".into(), "a".into()), ("".into(), "b".into())]);
    }

    #[test]
    fn unchanged_objects_are_read_again_in_the_next_whole_list() {
        let mut seen = listed(&[("a", 5), ("b", 5)], 5);
        seen.listing(KIND);
        seen.reread(KIND);
        let is_news = |seen: &mut Seen<()>, name| seen.is_news(KIND, &meta(name, 5), Source::Watch);
        assert!(!is_news(&mut seen, "a"), "this list began before");
        seen.listed(KIND, Some(5));
        for attempt in ["fails", "is read to its end"] {
            seen.listing(KIND);
            assert!(is_news(&mut seen, "a"), "{attempt}");
        }
        assert!(seen.is_news(KIND, &meta("b", 7), Source::Write));
        assert!(
            !seen.is_news(KIND, &meta("b", 6), Source::Watch),
            "the list is older than the write, which was read since"
        );
        assert_eq!(seen.listed(KIND, Some(6)), []);
        seen.listing(KIND);
        assert!(!is_news(&mut seen, "a"), "it was read");
    }

    #[test]
    fn a_kind_that_is_no_longer_watched_is_forgotten_whole() {
        let mut seen = listed(&[("a", 5)], 5);
        assert_eq!(seen.forget(KIND), [("".into(), "a".into())]);
        assert!(!seen.is_listed(KIND) && !seen.is_gone(KIND, &meta("a", 9)));
    }
}
