import LarderManifest

/// The result of reading a manifest, for comparisons.
struct Reading: Equatable {
    struct Item: Equatable {
        let position: Int
        let icon: Int
        let line: Int?
        let name: String?
        let entry: Entry?
        let words: String?
    }

    private var items: [Item] = []
    private var summary: ManifestSummary?
    private var error: ManifestError?

    init(of source: ManifestSource, rules: ManifestRules, limits: ManifestLimits = .init()) {
        var rules = rules
        rules.limits = limits
        do {
            summary = try ManifestReader(source: source, rules: rules).read {
                items.append(Item($0))
            }
        } catch let error as ManifestError {
            self.error = error
            // Messages go to terminals.
            let controls = error.description.unicodeScalars.filter {
                $0.properties.generalCategory == .control
            }
            guard controls.isEmpty else {
                fatalError("a message with control characters: \(error)")
            }
        } catch {
            fatalError("an unexpected error: \(error)")
        }
    }

    /// Whether both results are equal or both have failed. If a manifest has several errors, the
    /// readers may report different ones.
    func agrees(with other: Reading) -> Bool {
        error == nil
            ? (items, summary) == (other.items, other.summary) && other.error == nil
            : other.error != nil
    }
}

extension Reading.Item {
    init(_ item: ManifestItem) {
        position = item.position
        icon = item.icon
        line = item.line
        name = item.name
        switch item.result {
        case .entry(let entry):
            self.entry = entry
            words = nil
        case .inline(let inline):
            entry = nil
            words = inline.resourceKey
        case .skipped(let reason):
            entry = nil
            words = reason
        case .unfetched(let kind):
            entry = nil
            words = kind.rawValue
        case .failed(let error):
            entry = nil
            // The message may contain a column, which differs.
            words = error.code.rawValue
        }
    }
}
