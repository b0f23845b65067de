import LarderTransfer

@testable import LarderKit

/// What reading a manifest gave.
struct ManifestReading {
    var items: [ManifestItem] = []
    var summary: ManifestSummary?

    /// One word an element: the icon's URL, `skipped`, or the error's code.
    var words: [String] {
        items.map { item in
            switch item.result {
            case .entry(let entry): entry.icon.string
            case .skipped: "skipped"
            case .failed(let error): error.code.rawValue
            }
        }
    }

    var entries: [Entry] {
        items.compactMap { if case .entry(let entry) = $0.result { entry } else { nil } }
    }

    var errors: [EntryError] {
        items.compactMap { if case .failed(let error) = $0.result { error } else { nil } }
    }
}

func readManifest(
    _ source: ManifestSource, base: String? = nil, limits: ManifestLimits = .init()
) throws -> ManifestReading {
    let baseURL = try base.map { try HTTPURL($0) }
    var reading = ManifestReading()
    reading.summary = try ManifestReader(source: source, baseURL: baseURL, limits: limits)
        .read { reading.items.append($0) }
    return reading
}

func readManifest(
    _ text: String, base: String? = nil, limits: ManifestLimits = .init()
) throws -> ManifestReading {
    try readManifest(.bytes(Array(text.utf8), name: "test"), base: base, limits: limits)
}

/// The error that reading ends with; nil if it does not.
func manifestError(
    _ source: ManifestSource, limits: ManifestLimits = .init()
) throws -> ManifestError? {
    do {
        _ = try readManifest(source, limits: limits)
        return nil
    } catch let error as ManifestError {
        return error
    }
}

func manifestError(_ text: String, limits: ManifestLimits = .init()) throws -> ManifestError? {
    try manifestError(.bytes(Array(text.utf8), name: "test"), limits: limits)
}

/// An XML property list around `content`.
func xmlPlist(_ content: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
    "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    \(content)
    </plist>

    """
}
