import LarderTransfer

/// Reads a manifest as a stream of entries: the first stage of
/// Manifest → Plan → Queue → Transfer → Store → Index → Report.
///
/// The format is told by the content, in one pass, and memory stays within ``ManifestLimits``
/// however long the manifest is.
public struct ManifestReader: Sendable {
    private let source: ManifestSource
    private let baseURL: HTTPURL?
    private let limits: ManifestLimits

    /// - Parameter baseURL: what relative icon URLs are resolved against; without it the manifest's
    ///   own URL, and without that they fail.
    public init(
        source: ManifestSource, baseURL: HTTPURL? = nil, limits: ManifestLimits = .init()
    ) {
        self.source = source
        self.baseURL = baseURL
        self.limits = limits
    }

    /// Hands every element over in order, the skipped and the failed ones included.
    ///
    /// Blocks while it reads: call it on a thread of its own.
    ///
    /// - Throws: ``ManifestError`` if the file cannot be read or is no manifest, which may show
    ///   only after entries were handed over; and whatever `body` throws, which ends the reading.
    public func read(_ body: (ManifestItem) throws -> Void) throws -> ManifestSummary {
        let input = try source.open()
        let window = ByteWindow(input)
        let decoder = EntryDecoder(baseURL: baseURL ?? input.baseURL)
        var entries = 0
        let emit = { (element: RawEntry) in
            entries += 1
            let (name, result) =
                switch element.content {
                case .success(let value): decoder.decode(value)
                case .failure(let error): (nil, .failed(error))
                }
            try body(
                ManifestItem(position: entries, line: element.line, name: name, result: result))
        }
        let format = try read(window, emit)
        return ManifestSummary(format: format, entries: entries)
    }

    private func read(
        _ window: ByteWindow, _ emit: (RawEntry) throws -> Void
    ) throws -> ManifestFormat {
        switch try ManifestContent(of: window) {
        case .binaryPlist:
            try BinaryPlistManifest(window, limits: limits).read(emit)
            return .binaryPlist
        case .xml:
            try XMLPlistManifest(window, limits: limits).read(emit)
            return .xmlPlist
        case .json:
            return try JSONManifest(window, limits: limits).read(emit)
        }
    }
}
