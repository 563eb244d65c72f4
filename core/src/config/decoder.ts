import { setting, types } from './load.js';
import * as shared from './shared.js';

/** Settings of `gwk decoder`. It has no secret. */
export const decoderSettings = {
  ...shared.program,
  socket: setting(
    'GWK_DECODER_SOCKET',
    types.text(),
    'Path of the Unix socket on which the decoder accepts jobs. Put it into a folder that only the worker can reach.',
  ),
  ffmpeg: setting('GWK_DECODER_FFMPEG', types.text().optional(), 'Path of ffmpeg. Default: the one in PATH.'),
};
