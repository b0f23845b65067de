/// Byte counts for people, in powers of ten as disks are sold and `--max-size` reads `MB`.
package enum ByteText {
    /// `999 B`, `1.5 kB`, `45.2 MB`.
    package static func describe(_ bytes: Int64) -> String { describe(Double(bytes)) }

    package static func describe(_ bytes: Double) -> String {
        guard bytes >= 1000 else { return "\(Int(bytes)) B" }
        var value = bytes
        var unit = ""
        for name in ["kB", "MB", "GB", "TB", "PB"] where value >= 999.95 || unit.isEmpty {
            value /= 1000
            unit = name
        }
        return "\(decimal(value)) \(unit)"
    }

    /// One decimal, rounded.
    static func decimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
