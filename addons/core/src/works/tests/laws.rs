//! Properties of layouts, over two changes of an add-on.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Key, Layout, Rendered, config_map, key, laid_out, stored};
use crate::works::lay_out::LARGEST;

/// The objects of an add-on: their sizes, by name.
fn objects() -> impl Strategy<Value = Vec<Rendered>> {
    let bytes =
        prop_oneof![4 => 0..2_000_usize, 2 => 50_000..200_000_usize, 1 => 300_000..511_000_usize];
    prop::collection::btree_map("[a-h]", bytes, 0..8).prop_map(|sizes| {
        let all = sizes.iter();
        all.map(|(name, bytes)| config_map(name, *bytes)).collect()
    })
}

/// The work of each object, and its bytes.
fn places(layout: &Layout) -> Result<BTreeMap<Key, (String, usize)>, TestCaseError> {
    let mut places = BTreeMap::new();
    for work in &layout.works {
        let manifests = &work.spec.workload.manifests;
        let bytes: usize = manifests.iter().map(|it| it.text().len()).sum();
        prop_assert!(bytes <= LARGEST);
        prop_assert!(!manifests.is_empty());
        for manifest in manifests {
            let place = (work.name.clone(), manifest.text().len());
            let former = places.insert(key(manifest), place);
            prop_assert_eq!(former, None, "an object is in two works");
        }
    }
    Ok(places)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_object_is_in_one_work_and_stays_there(first in objects(), second in objects(), third in objects()) {
        let mut existing = Vec::new();
        let mut before: BTreeMap<Key, (String, usize)> = BTreeMap::new();
        for objects in [first, second, third] {
            let layout = laid_out(&objects, &existing).unwrap();
            prop_assert_eq!(&layout, &laid_out(&objects, &existing).unwrap());
            let now = places(&layout)?;
            let keys: Vec<_> = objects.iter().map(|it| Key::of(it.object.as_object().unwrap())).collect();
            prop_assert_eq!(now.keys().collect::<Vec<_>>(), keys.iter().collect::<Vec<_>>());
            for (key, (work, bytes)) in &now {
                if let Some((former, had)) = before.get(key) {
                    prop_assert!(work == former || bytes > had, "{:?} moved from {} to {}", key, former, work);
                }
            }
            for name in &layout.unneeded {
                prop_assert!(layout.works.iter().all(|work| work.name != *name));
            }
            existing = stored(&layout);
            before = now;
            // What is as it should be stays as it is.
            let again = laid_out(&objects, &existing).unwrap();
            prop_assert_eq!(again, Layout { unneeded: Vec::new(), ..layout });
        }
    }
}
