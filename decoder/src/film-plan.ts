import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { Mp4Layout } from './mp4-layout.js';
import { type AudioStream, type ProbedFile, type VideoStream } from './probe.js';

/** Work on the streams of a film. */
export interface FilmPlan {
  video: 'copy' | 'encode';
  /** Null: the film has no sound. */
  audio: 'copy' | 'encode' | null;
}

const PLAYABLE_PROFILES: ReadonlySet<string> = new Set(['Constrained Baseline', 'Baseline', 'Main', 'High']);
const PLAYABLE_PIXELS: ReadonlySet<string> = new Set(['yuv420p', 'yuvj420p']);
/** Containers whose times an MP4 file can take over. */
const COPYABLE: ReadonlySet<string> = new Set(['mov', 'matroska', 'flv']);

/**
 * Decides what a film needs so that phones play it: H.264 with 8 bits and 4:2:0 in MP4 and AAC. Null: nothing.
 * @param layout null: no MP4 file
 * @param isChanged whether its pictures change in any case
 */
export function planFilm(
  container: string,
  { video, audio }: Pick<ProbedFile, 'video' | 'audio'>,
  layout: Mp4Layout | null,
  isChanged = false,
): FilmPlan | null {
  const copies = COPYABLE.has(container);
  const plan: FilmPlan = {
    video: copies && isPlayable(video!, isChanged) ? 'copy' : 'encode',
    audio: audio === null ? null : copies && isAudible(audio) ? 'copy' : 'encode',
  };
  const isMp4 = layout?.isStreamable === true && !/^(qt|3g)/.test(layout.brand);
  return isMp4 && plan.video === 'copy' && plan.audio !== 'encode' ? null : plan;
}

const isPlayable = ({ codec, profile, pixels }: VideoStream, isChanged: boolean): boolean =>
  !isChanged && codec === 'h264' && PLAYABLE_PROFILES.has(profile) && PLAYABLE_PIXELS.has(pixels);

/** Phones play no MP3 in MP4. */
const isAudible = ({ codec }: AudioStream): boolean => codec === 'aac';

/** Longest side of an encoded film: that of the apps' HD quality. */
const MAX_SIDE = 1_280;

/** The size of an encoded film, with even sides, which 4:2:0 needs. */
export function encodedSize({ width, height }: { width: number; height: number }): {
  width: number;
  height: number;
} {
  const scale = Math.min(1, MAX_SIDE / Math.max(width, height));
  const even = (side: number): number => Math.max(2, Math.floor((side * scale) / 2) * 2);
  return { width: even(width), height: even(height) };
}

const MAX_KBPS = 4_000;
const MIN_KBPS = 50;
/** For films that do not state their duration. */
const UNKNOWN_KBPS = 1_500;
const AUDIO_KBPS = 128;
const LONG_AUDIO_KBPS = 48;
/** Films with less than this for picture and sound have the sound of a voice message. */
const LONG_KBPS = 400;
/** Part of the limit that the streams may fill; the rest is for the index and peaks. */
const FILL = 0.92;

/** Bitrates with which a film of this duration fits the size limit, up to about an hour and a half. */
export function chooseKbps(seconds: number | null): { video: number; audio: number } {
  if (seconds === null || seconds <= 0) return { video: UNKNOWN_KBPS, audio: AUDIO_KBPS };
  const fitting = (MAX_MEDIA_BYTES * 8 * FILL) / 1_000 / seconds;
  const audio = fitting < LONG_KBPS ? LONG_AUDIO_KBPS : AUDIO_KBPS;
  return { video: Math.round(Math.min(MAX_KBPS, Math.max(MIN_KBPS, fitting - audio))), audio };
}

const MAX_ANIMATION_FPS = 50;

/** Frame rate of a film whose pictures each last for their time. */
export function chooseFps(delaysMs: readonly number[]): number {
  const shortest = delaysMs.reduce((least, delay) => Math.min(least, delay));
  return Math.min(MAX_ANIMATION_FPS, Math.max(1, Math.round(1_000 / shortest)));
}

const WIDTH = 72;
const MAX_HEIGHT = 128;

/** Size of the small picture of a film. */
export function thumbnailSize({ width, height }: { width: number; height: number }): {
  width: number;
  height: number;
} {
  const scale = Math.min(WIDTH / width, MAX_HEIGHT / height);
  const even = (side: number): number => Math.max(2, Math.round((side * scale) / 2) * 2);
  return { width: even(width), height: even(height) };
}
