import Foundation
import LarderCache
import LarderCore
import LarderExport
import LarderManifest

/// A copy of a manifest in its own format, in a temporary file. Its icon URLs refer to the server.
final class CatalogueSpool: Sendable {
    let file: LentFile
    let mediaType: String
    let entityTag = "\"\(String(UInt64.random(in: .min ... .max), radix: 36))\""

    init(_ manifest: ServedManifest, rules: ManifestRules, base: String) throws {
        let catalogue = try Catalogue(manifest.source, limits: rules.limits)
        let edits = try CatalogueEdits()
        let source = catalogue.source
        let summary = try ManifestReader(source: source, rules: rules).read { item in
            guard case .entry(let entry) = item.result, let value = item.value,
                !value.span.isEmpty, !LocalizeTarget.server(base).isOwn(value.text)
            else { return }
            let url = LocalizeTarget.url(of: entry.resourceKey, at: base)
            let identity = Digest(of: Array(url.utf8))
            try edits.add(
                value.span, number: edits.add(identity, written: value.text, new: url))
        }
        if let refusal = summary.refusalIfAllWereRead(of: source) { throw refusal }
        let copy = try LarderCache.FileDescriptor.unnamed()
        let output = GeneratedFile(copy)
        _ = try catalogue.copy(as: summary.format, replacing: edits.next) { try output.write($0) }
        file = LentFile(copy, size: try output.finish().count)
        mediaType = catalogue.isPacked ? "application/gzip" : Self.mediaType(of: summary.format)
    }

    private static func mediaType(of format: ManifestFormat) -> String {
        switch format {
        case .json: "application/json"
        case .jsonLines: "application/jsonl"
        case .yaml: "application/yaml"
        case .xml, .xmlPlist: "application/xml"
        case .binaryPlist: "application/octet-stream"
        case .urlList: "text/plain; charset=utf-8"
        }
    }
}
