import Foundation

extension CacheError {
    /// Whether a place in the object tree is out of reach, alone: a foreign file, a link or nothing
    /// is in it, or it may not be entered.
    var isOutOfReach: Bool { isAbsence || errno == EACCES }

    /// The same error as one of a single object's place; nil if it concerns the whole cache, as
    /// a full or failing disk or a lack of descriptors does.
    var obstruction: CacheError? {
        switch errno {
        case EISDIR, ENOTDIR, ELOOP, ENXIO:
            CacheError(
                .obstructed, subject: subject,
                message: "\(message); larder verify --repair moves away what is in its place")
        case EACCES, EPERM, EBUSY, EXDEV:
            CacheError(.obstructed, subject: subject, message: message)
        default: nil
        }
    }
}
