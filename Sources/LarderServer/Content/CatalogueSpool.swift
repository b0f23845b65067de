import Foundation
import LarderCache
import LarderCore
import LarderExport
import LarderManifest

/// A manifest in its own format, in a temporary file. Its icon URLs are at the server's base URL.
final class CatalogueSpool: Sendable {
    private static let pageSize = 500

    let file: LentFile
    let mediaType: String
    let entityTag = "\"\(String(UInt64.random(in: .min ... .max), radix: 36))\""

    init(_ manifest: ServedManifest, rules: ManifestRules, base: String) throws {
        let catalogue = try Catalogue(manifest.source, limits: rules.limits)
        let edits = try CatalogueEdits()
        var page: [(span: Range<Int>, written: String, new: String?)] = []
        func flush() throws {
            let numbers = try edits.add(page.map { ($0.written, $0.new) })
            try edits.add(zip(page, numbers).map { ($0.span, $1.number) })
            page.removeAll(keepingCapacity: true)
        }
        let source = catalogue.source
        let summary = try ManifestReader(source: source, rules: rules).read { item in
            guard case .entry(let entry) = item.result, let value = item.value,
                !value.span.isEmpty
            else { return }
            let url = LocalizeTarget.url(of: entry.resourceKey, at: base)
            page.append((value.span, value.text, url))
            if page.count >= Self.pageSize { try flush() }
        }
        if let refusal = summary.refusal(of: source) { throw refusal }
        try flush()
        let copy = try LarderCache.FileDescriptor.unnamed()
        var buffer: [UInt8] = []
        var size = 0
        _ = try withoutActuallyEscaping({ (bytes: UnsafeRawBufferPointer) throws in
            size += bytes.count
            buffer += bytes
            guard buffer.count >= 64 << 10 else { return }
            try copy.write(buffer)
            buffer.removeAll(keepingCapacity: true)
        }) { try catalogue.copy(as: summary.format, replacing: edits.next, to: $0) }
        try copy.write(buffer)
        file = LentFile(copy, size: Int64(size))
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
