import LarderCache

/// A value that a path has led to.
struct PathMatch {
    let value: ManifestValue
    /// The members of the dictionary that holds it, or that holds its array.
    let container: [ManifestValue.Member]
    /// The name by which it was found last.
    let key: String
    /// The name that `.*` last stood for; nil if there was none.
    let wildcard: String?
}

extension ManifestPath {
    /// Every value that the path leads to from `value`, in order.
    ///
    /// - Parameter limit: no more are looked for.
    func matches(in value: ManifestValue, limit: Int) -> [PathMatch] {
        var found: [PathMatch] = []
        Self.collect(
            segments[...], PathMatch(value: value, container: [], key: "", wildcard: nil), limit,
            &found)
        return found
    }

    /// The first value that the path leads to and that is something: neither null nor a blank
    /// string.
    func first(in value: ManifestValue) -> ManifestValue? {
        if segments.count == 1, case .member(let key) = segments[0],
            case .dictionary(let members) = value
        {
            guard let found = members[key], !found.isBlank else { return nil }
            return found
        }
        return matches(in: value, limit: ManifestLimits.maximumIcons).first { !$0.value.isBlank }?
            .value
    }

    private static func collect(
        _ rest: ArraySlice<Segment>, _ match: PathMatch, _ limit: Int, _ found: inout [PathMatch]
    ) {
        guard found.count < limit else { return }
        guard let segment = rest.first else { return found.append(match) }
        let next = rest.dropFirst()
        switch (segment, match.value) {
        case (.member(let key), .dictionary(let members)):
            guard let value = members[key] else { return }
            let match = PathMatch(
                value: value, container: members, key: key, wildcard: match.wildcard)
            collect(next, match, limit, &found)
        case (.members, .dictionary(let members)):
            for member in members {
                let match = PathMatch(
                    value: member.value, container: members, key: member.key,
                    wildcard: member.key)
                collect(next, match, limit, &found)
            }
        case (.elements, .array(let elements)):
            for element in elements { collect(next, match.element(element), limit, &found) }
        case (.elementsWhere(let key, let value), .array(let elements)):
            for case .dictionary(let members) in elements {
                guard case .string(let text)? = members[key], text.isSame(as: value) else {
                    continue
                }
                collect(next, match.element(.dictionary(members)), limit, &found)
            }
        default: return
        }
    }
}

extension PathMatch {
    fileprivate func element(_ value: ManifestValue) -> PathMatch {
        PathMatch(value: value, container: container, key: key, wildcard: wildcard)
    }
}

extension [ManifestValue.Member] {
    /// The value of the last member with that key, which is the one that counts.
    subscript(key: String) -> ManifestValue? {
        lastIndex { $0.key.isSame(as: key) }.map { self[$0].value }
    }
}
