/**
 * Formats of files that ffmpeg may decode. The ffmpeg of the decoder's image contains exactly these and RAW
 * (scripts/images/build-ffmpeg); another ffmpeg gets them as its whitelist.
 */

/** The only containers, by sniffed type. Names of ffmpeg's demuxers. */
export const CONTAINERS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/mp4': 'mov',
  'audio/aac': 'aac',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/amr': 'amr',
  'audio/aiff': 'aiff',
  'audio/webm': 'matroska',
  'video/mp4': 'mov',
  'video/quicktime': 'mov',
  'video/3gpp': 'mov',
  'video/3gpp2': 'mov',
  'video/webm': 'matroska',
  'video/x-matroska': 'matroska',
  'video/x-msvideo': 'avi',
  'video/ogg': 'ogg',
  'video/mpeg': 'mpeg',
  'video/mp2t': 'mpegts',
  'video/x-flv': 'flv',
  'video/x-ms-asf': 'asf',
  'audio/x-ms-asf': 'asf',
  'image/gif': 'gif',
  'image/bmp': 'bmp_pipe',
};

const VIDEO_DECODERS = [
  ...['h264', 'hevc', 'h263', 'mpeg4', 'mjpeg', 'vp8', 'vp9', 'libdav1d', 'theora', 'gif'],
  ...[
    'mpeg1video',
    'mpeg2video',
    'msmpeg4',
    'msmpeg4v2',
    'wmv1',
    'wmv2',
    'wmv3',
    'vc1',
    'flv',
    'bmp',
    'prores',
  ],
];

const AUDIO_DECODERS = [
  ...['aac', 'mp3float', 'mp2', 'opus', 'vorbis', 'flac', 'alac', 'ac3', 'eac3', 'amrnb', 'amrwb'],
  ...['wmav1', 'wmav2', 'wmapro', 'adpcm_ima_wav', 'adpcm_ms', 'gsm_ms', 'pcm_alaw', 'pcm_mulaw'],
  ...['pcm_u8', 'pcm_s8', 'pcm_s16le', 'pcm_s16be', 'pcm_s24le', 'pcm_s24be', 'pcm_s32le', 'pcm_s32be'],
  ...['pcm_f32le', 'pcm_f32be', 'pcm_f64le', 'pcm_f64be'],
];

/** The only decoders: those of phones, cameras, browsers, editors and telephone systems. */
export const DECODERS: readonly string[] = [...VIDEO_DECODERS, ...AUDIO_DECODERS];

/** Demuxer and decoder of pictures that gwk decoded itself. No file may use them. */
export const RAW = 'rawvideo';
