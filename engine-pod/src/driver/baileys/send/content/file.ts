import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import type { Renderer, RenderInput } from './renderer.js';

export const renderImage: Renderer = (drawing) => ({
  message: {
    imageMessage: { ...renderFile(drawing), ...renderCaption(drawing, 'image'), ...renderPicture(drawing) },
  },
});

export const renderVideo: Renderer = (drawing) => ({
  message: {
    videoMessage: {
      ...renderFile(drawing),
      ...renderCaption(drawing, 'video'),
      ...renderPicture(drawing),
      ...renderDuration(drawing),
    },
  },
});

export const renderDocument: Renderer = (drawing) => {
  const { filename } = getFinishedMedia(drawing);
  const fileName = filename ?? 'file';
  return {
    message: {
      documentMessage: {
        ...renderFile(drawing),
        ...renderCaption(drawing, 'document'),
        ...renderPicture(drawing),
        fileName,
        title: fileName,
      },
    },
  };
};

export const renderAudio: Renderer = (drawing) => {
  const { waveform } = getFinishedMedia(drawing);
  const isVoice = drawing.content.audio!.voice;
  return {
    message: {
      audioMessage: {
        ...renderFile(drawing),
        ...renderDuration(drawing),
        ptt: isVoice,
        ...(isVoice && waveform !== undefined && { waveform: Buffer.from(waveform, 'base64') }),
      },
    },
  };
};

export const renderSticker: Renderer = (drawing) => {
  const { animated, width, height } = getFinishedMedia(drawing);
  return {
    message: {
      stickerMessage: {
        ...renderFile(drawing),
        isAnimated: animated ?? false,
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
      },
    },
  };
};

const getFinishedMedia = ({ content }: RenderInput): FinishedMedia => content.finished!;

function renderFile(drawing: RenderInput) {
  return { ...drawing.file!, mimetype: getFinishedMedia(drawing).mimetype };
}

function renderCaption({ content }: RenderInput, type: 'image' | 'video' | 'document') {
  const said = content[type]!.caption;
  return said ? { caption: said } : {};
}

function renderPicture(drawing: RenderInput) {
  const { width, height, thumbnail } = getFinishedMedia(drawing);
  return {
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(thumbnail !== undefined && { jpegThumbnail: Buffer.from(thumbnail, 'base64') }),
  };
}

function renderDuration(drawing: RenderInput) {
  const { duration_s } = getFinishedMedia(drawing);
  return duration_s === undefined ? {} : { seconds: Math.max(1, Math.round(duration_s)) };
}
