import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import type { Renderer, RenderInput } from './renderer.js';

export const renderImage: Renderer = (input) => ({
  message: {
    imageMessage: { ...renderFile(input), ...renderCaption(input, 'image'), ...renderPicture(input) },
  },
});

export const renderVideo: Renderer = (input) => ({
  message: {
    videoMessage: {
      ...renderFile(input),
      ...renderCaption(input, 'video'),
      ...renderPicture(input),
      ...renderDuration(input),
    },
  },
});

export const renderDocument: Renderer = (input) => {
  const { filename } = getFinishedMedia(input);
  const fileName = filename ?? 'file';
  return {
    message: {
      documentMessage: {
        ...renderFile(input),
        ...renderCaption(input, 'document'),
        ...renderPicture(input),
        fileName,
        title: fileName,
      },
    },
  };
};

export const renderAudio: Renderer = (input) => {
  const { waveform } = getFinishedMedia(input);
  const isVoice = input.content.audio!.voice;
  return {
    message: {
      audioMessage: {
        ...renderFile(input),
        ...renderDuration(input),
        ptt: isVoice,
        ...(isVoice && waveform !== undefined && { waveform: Buffer.from(waveform, 'base64') }),
      },
    },
  };
};

export const renderSticker: Renderer = (input) => {
  const { animated, width, height } = getFinishedMedia(input);
  return {
    message: {
      stickerMessage: {
        ...renderFile(input),
        isAnimated: animated ?? false,
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
      },
    },
  };
};

const getFinishedMedia = ({ content }: RenderInput): FinishedMedia => content.finished!;

function renderFile(input: RenderInput) {
  return { ...input.file!, mimetype: getFinishedMedia(input).mimetype };
}

function renderCaption({ content }: RenderInput, type: 'image' | 'video' | 'document') {
  const caption = content[type]!.caption;
  return caption ? { caption: caption } : {};
}

function renderPicture(input: RenderInput) {
  const { width, height, thumbnail } = getFinishedMedia(input);
  return {
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(thumbnail !== undefined && { jpegThumbnail: Buffer.from(thumbnail, 'base64') }),
  };
}

function renderDuration(input: RenderInput) {
  const { duration_s } = getFinishedMedia(input);
  return duration_s === undefined ? {} : { seconds: Math.max(1, Math.round(duration_s)) };
}
