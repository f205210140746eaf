//! The files of `cel/`, embedded.

/// A file of `cel/`: an expression, with placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    /// Its folder and name, without extension. The name is that of the variable.
    pub(crate) path: &'static str,
    text: &'static str,
}

// === impl Snippet ===

impl Snippet {
    /// The snippet with this path.
    ///
    /// # Panics
    /// If the snippet does not exist. Paths are constants, and a test renders every snippet.
    pub(crate) fn at(path: &str) -> Self {
        *ALL.iter()
            .find(|snippet| snippet.path == path)
            .unwrap_or_else(|| panic!("no snippet {path}"))
    }

    /// The expression.
    pub(crate) fn text(self) -> &'static str {
        self.text.trim_end()
    }

    /// The name of the variable.
    pub(crate) fn name(self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }
}

macro_rules! snippets {
    ($($path:literal)*) => {
        /// All files.
        pub(crate) const ALL: &[Snippet] = &[
            $(Snippet { path: $path, text: include_str!(concat!("../cel/", $path, ".cel")) }),*
        ];
    };
}

snippets! {
    "bindings/mayBind"
    "bindings/notOfCluster"
    "bindings/sameName"
    "bindings/set"
    "bindings/user"
    "clusters/acceptDenied"
    "clusters/changesAcceptance"
    "clusters/checked"
    "clusters/clock"
    "clusters/configFaults"
    "clusters/configs"
    "clusters/defaultSet"
    "clusters/defaultSetAllowed"
    "clusters/deniedNow"
    "clusters/faults"
    "clusters/forgedClock"
    "clusters/introduced"
    "clusters/isAccepted"
    "clusters/kinds"
    "clusters/lacksAccept"
    "clusters/lacksNewSet"
    "clusters/lacksOldSet"
    "clusters/leaseFaults"
    "clusters/longConfigs"
    "clusters/longTaints"
    "clusters/name"
    "clusters/nameFaults"
    "clusters/newSet"
    "clusters/newSetDenied"
    "clusters/now"
    "clusters/oldConfigs"
    "clusters/oldIds"
    "clusters/oldSet"
    "clusters/oldSetDenied"
    "clusters/oldTaints"
    "clusters/oldText"
    "clusters/oldTimes"
    "clusters/refusedTimes"
    "clusters/refusedTimesMessage"
    "clusters/reserved"
    "clusters/reservedDenied"
    "clusters/reservedPrefix"
    "clusters/taintFaults"
    "clusters/taints"
    "clusters/text"
    "clusters/tooLarge"
    "clusters/tooLong"
    "clusters/user"
    "clusters/wasAccepted"
    "guards/acceptance"
    "guards/binding"
    "guards/clientConfigs"
    "guards/cluster"
    "guards/clusterDefaults"
    "guards/clusterSet"
    "guards/denyNow"
    "guards/leaseDuration"
    "guards/noSet"
    "guards/request"
    "guards/rest"
    "guards/retiredLabel"
    "guards/set"
    "guards/taints"
    "guards/text"
    "requests/addon"
    "requests/addonAgent"
    "requests/addonDenied"
    "requests/cluster"
    "requests/denied"
    "requests/name"
    "requests/own"
    "requests/ownCluster"
    "requests/user"
    "sets/faults"
    "sets/introduced"
    "sets/lacksJoin"
    "sets/name"
    "sets/newSpec"
    "sets/oldSpec"
    "sets/sideAll"
    "sets/sideAllowed"
    "sets/sideBut"
    "sets/sideByLabels"
    "sets/sideExpressions"
    "sets/sideFaults"
    "sets/sideInKeys"
    "sets/sideInPairs"
    "sets/sideInvalidExpressions"
    "sets/sideInvalidLabels"
    "sets/sideKeys"
    "sets/sideLabels"
    "sets/sideNeeded"
    "sets/sideNone"
    "sets/sideOnly"
    "sets/sideRequirements"
    "sets/sideSelectors"
    "sets/sideValues"
    "sets/sideWhole"
    "sets/user"
    "sets/widened"
    "sets/wider"
    "times/clock"
    "times/echoes"
    "times/new"
    "times/notBeingDeleted"
    "times/now"
    "times/old"
    "times/patch"
    "times/stored"
    "times/taintsChanged"
    "times/times"
    "warnings/inSet"
    "warnings/possibleSet"
    "warnings/reservedName"
    "warnings/retiredLabel"
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_is_embedded_once() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cel");
        let mut found = Vec::new();
        for kind in fs::read_dir(folder).unwrap() {
            let kind = kind.unwrap();
            for file in fs::read_dir(kind.path()).unwrap() {
                let file = file.unwrap().file_name().into_string().unwrap();
                let name = file.strip_suffix(".cel").unwrap();
                found.push(format!("{}/{name}", kind.file_name().display()));
            }
        }
        found.sort();
        let mut embedded: Vec<_> = ALL.iter().map(|snippet| snippet.path).collect();
        embedded.sort_unstable();
        assert_eq!(embedded, found);
    }
}
