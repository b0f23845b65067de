import Foundation
import LarderManifest

extension TableRows {
    /// The entries of manifests: a row for each, with the first of its icons.
    ///
    /// - Parameters:
    ///   - sources: where the manifests are.
    ///   - rules: how they are read.
    ///   - complain: called for each entry that is wrong, with what is; it is a row without icon.
    /// - Throws: as `ManifestReader.read`.
    package static func read(
        _ sources: [ManifestSource], _ rules: ManifestRules, complain: (String) -> Void
    ) throws -> TableRows {
        var rows = TableRows()
        for source in sources {
            let summary = try ManifestReader(source: source, rules: rules).read { item in
                guard item.icon == 1 else { return }
                switch item.result {
                // As an app has it: `URL` percent-encodes more than libcurl does.
                case .entry(let entry): rows.add(URL(string: entry.icon.string)?.absoluteString)
                case .inline, .skipped: rows.add(nil)
                case .failed(let error):
                    rows.add(nil)
                    complain(
                        "\(source.name.sanitizedForTerminal): entry \(item.position): "
                            + error.message)
                }
            }
            if let refusal = summary.refusal(of: source) { throw refusal }
        }
        rows.number()
        return rows
    }
}
