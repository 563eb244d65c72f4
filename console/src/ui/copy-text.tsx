import { ActionIcon, Code, CopyButton, Group, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

interface CopyTextProps {
  text: string;
  /** Over several lines, for long texts. */
  block?: boolean;
}

/** A text to copy: an id, a secret or a command. */
export function CopyText({ text, block = false }: CopyTextProps) {
  const { t } = useTranslation();
  return (
    <Group gap={4} wrap="nowrap" align={block ? 'flex-start' : 'center'} maw="100%">
      <Code block={block} className="wrap" flex={block ? 1 : undefined} tabIndex={block ? 0 : undefined}>
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Tooltip label={t(copied ? 'common.copied' : 'common.copy')}>
            <ActionIcon
              variant="subtle"
              color={copied ? 'teal' : 'gray'}
              onClick={copy}
              aria-label={t(copied ? 'common.copied' : 'common.copy')}
            >
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  );
}
