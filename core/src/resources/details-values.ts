/** Limits and names in the facts of received cards (details.ts). Engines load this module, so it imports no package. */

/** Characters of all texts of one card together. */
export const MAX_DETAILS = 32_768;
export const MAX_DETAILS_ITEMS = 100;

/** Why a picture or film comes a second time, by the network's type of association. */
export const PAIRS = {
  5: 'hd_video',
  10: 'hd_image',
  12: 'motion_photo',
  19: 'hevc_video',
} as const;
