/** Sizes of media files. Engines load this module, so it imports no package. */

/** Largest file that is decoded. Only documents may be larger, up to the setting GWK_MEDIA_MAX_MB. */
export const MAX_MEDIA_BYTES = 67_108_864;
export const MEGABYTE = 1_048_576;
/** Column `media.size` is an integer. */
export const MAX_DOCUMENT_MB = 2_000;

/** Longest transfer of a file: 15 minutes, or the time at 250 kB/s. */
export const longestTransferMs = (bytes: number): number => Math.max(900_000, bytes / 250);
