import Foundation

extension UnsafeBufferPointer<UInt8> {
    /// Where the first such byte is from `start` on; nil if there is none. Much faster than the
    /// standard library's search.
    func place(of byte: UInt8, from start: Int = 0) -> Int? {
        guard let base = baseAddress, start < count else { return nil }
        return memchr(base + start, Int32(byte), count - start).map {
            UnsafeRawPointer($0) - UnsafeRawPointer(base)
        }
    }
}
