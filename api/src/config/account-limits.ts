import { setting, types } from '@gwk/core/config/load';

const SAME = 'An account can have its own limit. All API and worker processes must use the same value.';
/** 5 GiB: half of the media volume of the chart. */
const MEDIA_BYTES = 5_368_709_120;
const EVENT_BYTES = 10_737_418_240;
const MAX_BYTES = 1_000_000_000_000_000;

/** Limits of what an account stores. */
export const accountLimitSettings = {
  accountMediaBytes: setting(
    'GWK_ACCOUNT_MEDIA_BYTES',
    types.integer(0, MAX_BYTES).default(MEDIA_BYTES),
    `Bytes of files that an account may store. Above it, uploads are refused; received files and files of messages are stored up to four times this limit. ${SAME}`,
  ),
  accountMediaFiles: setting(
    'GWK_ACCOUNT_MEDIA_FILES',
    types.integer(0, 100_000_000).default(100_000),
    `Number of files that an account may store, with the same effect as GWK_ACCOUNT_MEDIA_BYTES. ${SAME}`,
  ),
  accountEventBytes: setting(
    'GWK_ACCOUNT_EVENT_BYTES',
    types.integer(0, MAX_BYTES).default(EVENT_BYTES),
    `Bytes of kept events of an account. Above it, simulated messages to sandboxes are refused; events of real traffic are always stored. ${SAME}`,
  ),
};
