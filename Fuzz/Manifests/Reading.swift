import LarderManifest

/// What reading a manifest gave, so that two readings can be compared.
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
                item in
                items.append(Item(item))
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
            fatalError("an error of another kind: \(error)")
        }
    }

    /// Whether both are the same, or both have failed: of two things that are wrong, and after how many
    /// entries, the reader may come upon either.
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
        case .failed(let error):
            entry = nil
            // The words may name a column.
            words = error.code.rawValue
        }
    }
}
