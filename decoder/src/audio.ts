import { statSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { FfmpegCommand } from 'fluent-ffmpeg';
import { FileRefused, type ToolAnswer } from '@gwk/core/decoder/jobs';
import { Loudness, PCM_RATE } from './loudness.js';
import { checkDuration, probe, type AudioStream } from './probe.js';
import { openInput, runFfmpeg } from './run-ffmpeg.js';

const OPUS_TYPE = 'audio/ogg; codecs=opus';
const VOICE_RATE = 48_000;
const MAX_RATE = 48_000;
/** Containers that state their duration. For the others ffmpeg estimates it from the first bytes. */
const STATES_DURATION: ReadonlySet<string> = new Set([
  'mov',
  'matroska',
  'ogg',
  'wav',
  'flac',
  'aiff',
  'avi',
  'asf',
]);
/** Codecs that phones play, by container. */
const PLAYABLE: Readonly<Record<string, RegExp>> = {
  mp3: /^mp3/,
  mov: /^aac$/,
  aac: /^aac$/,
  ogg: /^opus$/,
  amr: /^amr/,
};

type Target = 'voice' | 'aac' | null;

interface AudioPlan {
  container: string;
  voice: boolean;
  /** The file has a video, so its audio is extracted. */
  film: boolean;
}

/** Decides the conversion. Null: phones play the file as it is. */
export function chooseTarget(
  { container, voice, film }: AudioPlan,
  { codec, channels, rate }: AudioStream,
): Target {
  if (voice) return container === 'ogg' && !film && codec === 'opus' && channels === 1 ? null : 'voice';
  const plays = PLAYABLE[container]?.test(codec) === true && channels <= 2 && rate <= MAX_RATE;
  return plays && !film ? null : 'aac';
}

/** Decodes the first audio stream to its end, which proves that it is complete. */
export async function readAudio(input: string, output: string, plan: AudioPlan): Promise<ToolAnswer> {
  const { container, voice } = plan;
  const kind = voice ? 'voice' : 'audio';
  const { audio, seconds } = await probe(input, container);
  if (audio === null) throw new FileRefused('the file has no audio');
  if (STATES_DURATION.has(container)) checkDuration(seconds, kind);
  const target = chooseTarget(plan, audio);
  const command = openInput(input, container, kind);
  if (target !== null)
    convert(command.output(`file:${output}`).outputOptions('-map', `0:${audio.index}`), target, audio);
  const loudness = await measure(command, audio.index);
  if (loudness.seconds === 0) throw new FileRefused('the file has no audio');
  checkDuration(loudness.seconds, kind);
  if (target !== null && statSync(output).size > MAX_MEDIA_BYTES)
    throw new FileRefused('the audio is too long');
  return {
    duration_s: Math.max(1, Math.round(loudness.seconds)),
    converted: target !== null,
    ...(voice && { waveform: Buffer.from(loudness.points()).toString('base64') }),
    ...describe(target, audio.codec),
  };
}

/** Apps play Opus only under the type that names it. */
function describe(target: Target, codec: string): Pick<ToolAnswer, 'mimetype'> {
  if (target === 'aac') return { mimetype: 'audio/mp4' };
  return target === 'voice' || codec === 'opus' ? { mimetype: OPUS_TYPE } : {};
}

async function measure(command: FfmpegCommand, stream: number): Promise<Loudness> {
  // fluent-ffmpeg reports a failure if this stream closes 20 ms before ffmpeg exits, so the stream emits no close event.
  const pcm = new PassThrough({ emitClose: false });
  const loudness = new Loudness(pcm);
  command
    .output(pcm, { end: true })
    .outputOptions('-map', `0:${stream}`)
    .noVideo()
    .audioChannels(1)
    .audioFrequency(PCM_RATE)
    .audioCodec('pcm_s16le')
    .format('s16le');
  // ffmpeg may exit before its last samples are read.
  await Promise.all([runFfmpeg(command), finished(pcm)]);
  return loudness;
}

/** Voice: the format that phones record, Ogg with Opus, mono, 48 kHz. */
function convert(command: FfmpegCommand, target: 'voice' | 'aac', { channels, rate }: AudioStream): void {
  command.outputOptions('-map_metadata', '-1').noVideo();
  if (target === 'voice') {
    command.outputOptions('-application', 'voip').audioChannels(1).audioFrequency(VOICE_RATE);
    command.audioCodec('libopus').audioBitrate('32k').format('ogg');
    return;
  }
  command.audioChannels(Math.min(channels, 2));
  // ffmpeg chooses a rate that AAC has.
  if (rate > MAX_RATE) command.audioFrequency(MAX_RATE);
  command.audioCodec('aac').audioBitrate('128k').format('ipod');
}
