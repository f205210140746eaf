//! The specs of ManifestWorks and ManifestWorkReplicaSets, which are decoded only if the change concerns them.
//!
//! Manifests are not decoded: they are kept as the text of the request, without a copy ([`Manifests`]). A tree of values would take
//! twenty times the memory.

use berth_api::work::{
    DeleteOption, LocalPlacementReference, ManifestConfigOption, ManifestWorkExecutor,
};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess};
use serde_json::value::RawValue;

use super::collection::{Items, Sequence};
use super::counted::{Counter, Limit};
use super::placement::TooMany;
use super::shape::object;
use super::{GuardedObject, Metadata, Text, metadata, or_default};
use crate::path::explain_spec;

/// The maximum number of manifests. As many of the smallest ones do not fit OCM's limit of bytes.
pub const MOST_MANIFESTS: usize = 10_000;

/// The maximum number of rules of one kind for manifests.
pub const MOST_RULES: usize = 5_000;

/// Declares a kind with its spec as text.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $expecting:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, serde::Deserialize)]
        #[serde(rename_all = "camelCase", expecting = $expecting)]
        pub struct $name<'a> {
            /// `apiVersion`.
            #[serde(borrow, default, deserialize_with = "or_default")]
            pub api_version: Text<'a>,
            /// `kind`.
            #[serde(borrow, default, deserialize_with = "or_default")]
            pub kind: Text<'a>,
            /// `metadata`.
            #[serde(borrow, default, deserialize_with = "metadata")]
            pub metadata: Metadata<'a>,
            /// The text of `spec`.
            #[serde(borrow, default)]
            spec: Option<&'a RawValue>,
        }

        impl<'a> GuardedObject<'a> for $name<'a> {
            fn api_version(&self) -> &str {
                self.api_version.as_str()
            }

            fn kind(&self) -> &str {
                self.kind.as_str()
            }

            fn metadata(&self) -> &Metadata<'a> {
                &self.metadata
            }
        }

        impl<'a> $name<'a> {
            fn text(&self) -> &'a str {
                self.spec.map_or("null", RawValue::get)
            }
        }
    };
}

kind! {
    /// The fields of a ManifestWork that rules read.
    ManifestWork, "a ManifestWork"
}

kind! {
    /// The fields of a ManifestWorkReplicaSet that rules read.
    ReplicaSet, "a ManifestWorkReplicaSet"
}

/// An object that is or makes ManifestWorks.
pub(crate) trait HoldsWork<'a>: GuardedObject<'a> {
    /// Returns true if both have the same spec, as text.
    fn has_spec_of(&self, other: &Self) -> bool;

    /// Decodes the spec.
    ///
    /// # Errors
    /// A value has another type than in the API.
    fn read(&self) -> Result<ReadWork<'a>, String>;
}

/// The spec of a ManifestWork, or the template of a ManifestWorkReplicaSet.
#[derive(Debug, Default)]
pub(crate) struct ReadWork<'a> {
    /// `workload.manifests`.
    pub(crate) manifests: Manifests<'a>,
    /// The other fields. Items of lists beyond their limit are left out.
    pub(crate) rules: WorkRules,
    /// `placementRefs` of a ManifestWorkReplicaSet.
    pub(crate) placements: Vec<LocalPlacementReference>,
    /// The sizes that are limited, as submitted.
    sizes: [usize; LIMITS.len()],
}

/// The fields of a ManifestWork's spec besides the manifests.
#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(crate) struct WorkRules {
    /// `deleteOption`.
    pub(crate) delete_option: Option<DeleteOption>,
    /// `executor`.
    pub(crate) executor: Option<ManifestWorkExecutor>,
    /// `manifestConfigs`.
    #[serde(deserialize_with = "or_default")]
    pub(crate) manifest_configs: Vec<ManifestConfigOption>,
}

/// Manifests, as the text of the request.
#[derive(Debug, Default)]
pub(crate) struct Manifests<'a> {
    /// The texts of the first ones.
    texts: Vec<&'a str>,
    /// The number of all.
    number: usize,
    /// The size of all, as OCM counts it: that of the field in protocol buffers.
    size: usize,
}

/// `spec` of a ManifestWorkReplicaSet.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
struct ReplicaSetRules {
    #[serde(deserialize_with = "or_default")]
    manifest_work_template: WorkRules,
    #[serde(deserialize_with = "or_default")]
    placement_refs: Vec<LocalPlacementReference>,
}

/// `spec` of a ManifestWork, for its manifests.
#[derive(Default, serde::Deserialize)]
#[serde(default, expecting = "an object")]
struct WorkTexts<'a> {
    #[serde(borrow, deserialize_with = "object")]
    workload: WorkloadTexts<'a>,
}

/// `spec` of a ManifestWorkReplicaSet, for the manifests of its template.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
struct ReplicaSetTexts<'a> {
    #[serde(borrow, deserialize_with = "object")]
    manifest_work_template: WorkTexts<'a>,
}

/// `spec.workload`.
#[derive(Default, serde::Deserialize)]
#[serde(default, expecting = "an object")]
struct WorkloadTexts<'a> {
    #[serde(borrow)]
    manifests: Manifests<'a>,
}

/// The limits of lists, each for all lists of these names in the spec together.
static LIMITS: [Limit; 11] = [
    limit(&["manifestConfigs"], MOST_RULES),
    limit(&["feedbackRules"], MOST_RULES),
    limit(&["conditionRules"], MOST_RULES),
    limit(&["celExpressions"], MOST_RULES),
    limit(&["jsonPaths"], MOST_MANIFESTS),
    limit(&["ignoreFields"], MOST_RULES),
    limit(&["jsonPointers"], MOST_MANIFESTS),
    limit(&["jqPathExpressions"], MOST_MANIFESTS),
    limit(&["orphaningRules"], MOST_RULES),
    limit(&["placementRefs"], super::LONGEST_LIST),
    limit(&["mandatoryDecisionGroups"], super::LONGEST_LIST),
];

const fn limit(fields: &'static [&'static str], most: usize) -> Limit {
    Limit { fields, most }
}

// === impl ManifestWork ===

impl<'a> HoldsWork<'a> for ManifestWork<'a> {
    fn has_spec_of(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    fn read(&self) -> Result<ReadWork<'a>, String> {
        let texts: WorkTexts<'a> = read_texts(self.text())?;
        let (rules, sizes) = read_counted::<Option<WorkRules>>(self.text())?;
        Ok(ReadWork {
            manifests: texts.workload.manifests,
            rules: rules.unwrap_or_default(),
            placements: Vec::new(),
            sizes,
        })
    }
}

// === impl ReplicaSet ===

impl<'a> HoldsWork<'a> for ReplicaSet<'a> {
    fn has_spec_of(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    fn read(&self) -> Result<ReadWork<'a>, String> {
        let texts: ReplicaSetTexts<'a> = read_texts(self.text())?;
        let (rules, sizes) = read_counted::<Option<ReplicaSetRules>>(self.text())?;
        let rules = rules.unwrap_or_default();
        Ok(ReadWork {
            manifests: texts.manifest_work_template.workload.manifests,
            rules: rules.manifest_work_template,
            placements: rules.placement_refs,
            sizes,
        })
    }
}

fn read_texts<'a, T: Deserialize<'a> + Default>(text: &'a str) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    object(&mut json).map_err(|error| explain_spec(text, &error))
}

fn read_counted<'a, T: Deserialize<'a>>(
    text: &'a str,
) -> Result<(T, [usize; LIMITS.len()]), String> {
    let counter = Counter::new(&LIMITS);
    let mut json = serde_json::Deserializer::from_str(text);
    let read = T::deserialize(counter.watch(&mut json));
    let read = read.map_err(|error| explain_spec(text, &error))?;
    Ok((read, counter.counts()))
}

// === impl ReadWork ===

impl ReadWork<'_> {
    /// Returns the sizes over their limit. A stored spec may keep its size, and shrink.
    pub(crate) fn too_many(&self, stored: Option<&Self>) -> Vec<TooMany> {
        let all = self.limited().into_iter().enumerate();
        let over = all.filter(|(index, it)| {
            let stored = stored.map(|it| it.limited()[*index].number);
            it.number > it.most && stored.is_none_or(|stored| it.number > stored)
        });
        over.map(|(_, it)| it).collect()
    }

    /// Returns true if no size is over its limit.
    pub(crate) fn is_whole(&self) -> bool {
        self.limited().iter().all(|it| it.number <= it.most)
    }

    fn limited(&self) -> Vec<TooMany> {
        let manifests = TooMany {
            what: "manifests".to_owned(),
            number: self.manifests.number,
            most: MOST_MANIFESTS,
        };
        let lists = LIMITS
            .iter()
            .zip(self.sizes)
            .map(|(limit, number)| TooMany {
                what: limit.fields.join(" and "),
                number,
                most: limit.most,
            });
        std::iter::once(manifests).chain(lists).collect()
    }
}

// === impl Manifests ===

impl<'a> Manifests<'a> {
    /// Returns the texts, in their order.
    pub(crate) fn texts(&self) -> &[&'a str] {
        &self.texts
    }

    /// Returns the number of all, beyond the limit, too.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Returns true if the list is empty or missing.
    pub(crate) fn is_empty(&self) -> bool {
        self.number == 0
    }

    /// Returns the size of all in bytes, as OCM counts it.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Manifests<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Sequence(ReadManifests).deserialize(deserializer)
    }
}

struct ReadManifests;

impl<'de> Items<'de> for ReadManifests {
    type Value = Manifests<'de>;

    fn read<A: SeqAccess<'de>>(self, mut items: A) -> Result<Manifests<'de>, A::Error> {
        let mut manifests = Manifests::default();
        while let Some(text) = items.next_element::<&'de RawValue>()? {
            let text = text.get();
            manifests.number += 1;
            manifests.size += size_of(text.len());
            if manifests.number <= MOST_MANIFESTS {
                manifests.texts.push(text);
            }
        }
        Ok(manifests)
    }
}

/// The size of a text of this length in protocol buffers: a tag, the length as a varint, and the text.
fn size_of(length: usize) -> usize {
    let bits = usize::BITS - length.leading_zeros();
    let varint = bits.div_ceil(7).max(1);
    1 + varint as usize + length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests(text: &str) -> Manifests<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn sizes_are_those_of_protocol_buffers() {
        for (length, size) in [
            (0, 2),
            (1, 3),
            (127, 129),
            (128, 131),
            (16_383, 16_386),
            (16_384, 16_388),
            (2_097_151, 2_097_155),
            (2_097_152, 2_097_157),
        ] {
            assert_eq!(size_of(length), size, "{length}");
        }
    }

    #[test]
    fn manifests_are_texts_of_the_request_and_counted_beyond_the_limit() {
        let read = manifests(r#"[{"a":1}, null,  [ 2 ]]"#);
        assert_eq!(read.texts(), [r#"{"a":1}"#, "null", "[ 2 ]"]);
        assert_eq!(read.size(), 9 + 6 + 7);
        assert!(manifests("null").is_empty() && manifests("[]").is_empty());
        let many = format!("[{}]", vec!["{}"; MOST_MANIFESTS + 5].join(","));
        let many = manifests(&many);
        assert_eq!((many.texts().len(), many.number), (10_000, 10_005));
        assert_eq!(many.size(), 4 * 10_005);
    }

    #[test]
    fn strings_of_manifests_may_be_long() {
        let manifest = format!(r#"{{"data":{{"k":"{}"}}}}"#, "x".repeat(300_000));
        let text = format!(
            r#"{{"metadata":{{}},"spec":{{"workload":{{"manifests":[{manifest}]}},"executor":{{}}}}}}"#
        );
        let work: ManifestWork<'_> = serde_json::from_str(&text).unwrap();
        let read = work.read().unwrap();
        assert_eq!(read.manifests.texts(), [manifest.as_str()]);
        assert!(read.rules.executor.is_some());
    }
}
