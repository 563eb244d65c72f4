import { ApiError, newUuid } from '@gwk/client';
import {
  ActionIcon,
  Alert,
  Anchor,
  Button,
  CloseButton,
  FileButton,
  Group,
  Loader,
  Pill,
  Stack,
  Text,
  Textarea,
} from '@mantine/core';
import { IconAlertCircle, IconPaperclip, IconSend } from '@tabler/icons-react';
import type { KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import { showPerson } from '../ui/person';
import { ProblemAlert } from '../ui/problem-alert';
import { formatTime } from '../ui/time';
import { useSummary } from './bubble';
import type { useCompose } from './compose';
import { isEmpty, type Draft } from './draft';
import type { Conversation, Obstacle } from './obstacles';

/** Key of an Enter that ends a composition in Safari, which no longer says so then. */
const OF_COMPOSITION = 229;

type Compose = ReturnType<typeof useCompose>;

export function addFiles({ draft, change }: Compose, files: Iterable<File>): void {
  const added = Array.from(files, (file) => ({ file, key: newUuid() }));
  change({ files: [...draft.files, ...added] });
}

interface AnswerBoxProps {
  conversation: Conversation;
  compose: Compose;
  obstacle: Obstacle | null;
}

/** Where an answer is written, and why it cannot leave now. */
export function AnswerBox({ conversation, compose, obstacle }: AnswerBoxProps) {
  const { t } = useTranslation();
  const { draft, leaving, change, submit } = compose;
  const press = (event: KeyboardEvent) => {
    // Enter also ends the choice of a character in some languages.
    const { isComposing, keyCode } = event.nativeEvent;
    if (event.key !== 'Enter' || event.shiftKey || isComposing || keyCode === OF_COMPOSITION) return;
    event.preventDefault();
    submit();
  };
  return (
    <Stack gap="xs" pt="xs">
      {obstacle && <ObstacleNote obstacle={obstacle} instanceId={conversation.instance_id} />}
      <Leaving compose={compose} />
      {!obstacle?.blocks && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Additions compose={compose} />
          <Group gap="xs" align="flex-end" wrap="nowrap">
            <AttachButton compose={compose} />
            <Textarea
              flex={1}
              aria-label={t('conversations.write')}
              placeholder={t('conversations.write')}
              title={t('conversations.writeHelp')}
              autosize
              minRows={1}
              maxRows={8}
              value={draft.text}
              onChange={(event) => change({ text: event.currentTarget.value })}
              onKeyDown={press}
              onPaste={(event) => {
                const { files } = event.clipboardData;
                if (files.length === 0) return;
                event.preventDefault();
                addFiles(compose, files);
              }}
            />
            <ActionIcon
              type="submit"
              size={36}
              aria-label={t('conversations.send')}
              disabled={isEmpty(draft) || leaving !== null}
            >
              <IconSend size={18} />
            </ActionIcon>
          </Group>
        </form>
      )}
    </Stack>
  );
}

function AttachButton({ compose }: { compose: Compose }) {
  const { t } = useTranslation();
  const { can } = useAccount();
  if (!can('media:write')) return null;
  return (
    <FileButton multiple onChange={(files) => addFiles(compose, files)}>
      {(props) => (
        <ActionIcon {...props} variant="default" size={36} aria-label={t('conversations.attach')}>
          <IconPaperclip size={18} />
        </ActionIcon>
      )}
    </FileButton>
  );
}

/** The message that the draft answers, and its files. */
function Additions({ compose: { draft, change } }: { compose: Compose }) {
  const { t } = useTranslation();
  const summarize = useSummary();
  const { replyTo, files } = draft;
  const name = replyTo?.author && !replyTo.isMine ? showPerson(replyTo.author) : t('conversations.me');
  return (
    <>
      {replyTo && (
        <Group gap="xs" mb="xs" wrap="nowrap" justify="space-between">
          <Text size="xs" className="bubble-quote wrap" lineClamp={2}>
            <b>{t('conversations.replyingTo', { name })}</b> {summarize(replyTo)}
          </Text>
          <CloseButton
            size="sm"
            aria-label={t('conversations.noReply')}
            onClick={() => change({ replyTo: null })}
          />
        </Group>
      )}
      {files.length > 0 && (
        <Group gap={4} mb="xs">
          {files.map(({ file, key }) => (
            <Pill
              key={key}
              withRemoveButton
              maw="100%"
              onRemove={() => change({ files: files.filter((other) => other.key !== key) })}
              removeButtonProps={{
                'aria-label': t('conversations.removeFile', { name: file.name }),
                'aria-hidden': false,
                tabIndex: 0,
              }}
            >
              {file.name}
            </Pill>
          ))}
        </Group>
      )}
    </>
  );
}

/** A draft on its way, or what to do with one that was refused. */
function Leaving({ compose: { leaving, error, retry, putBack } }: { compose: Compose }) {
  const { t } = useTranslation();
  if (!leaving) return null;
  return (
    <Stack gap="xs" role="status">
      <Group gap="xs" wrap="nowrap">
        {!error && <Loader size="xs" aria-hidden />}
        <Text size="sm" c="dimmed" lineClamp={2} className="wrap">
          {t(`conversations.${describeState(error)}`)} {describeDraft(leaving)}
        </Text>
      </Group>
      {error && (
        <>
          <ProblemAlert error={error} />
          <Group gap="xs">
            <Button size="xs" onClick={retry}>
              {t('conversations.tryAgain')}
            </Button>
            <Button size="xs" variant="default" onClick={putBack}>
              {t('conversations.edit')}
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}

function describeState(error: Error | null): 'sending' | 'notSent' | 'unknownSent' {
  if (!error) return 'sending';
  const isRefused = error instanceof ApiError && error.status < 500;
  return isRefused ? 'notSent' : 'unknownSent';
}

const describeDraft = ({ text, files }: Draft): string =>
  [...files.map(({ file }) => file.name), text].filter((part) => part !== '').join(', ');

/** Numbers can be mended on their page. */
const OF_NUMBER: ReadonlySet<Obstacle['code']> = new Set(['notPaired', 'banned', 'offline', 'restricted']);

function ObstacleNote({ obstacle, instanceId }: { obstacle: Obstacle; instanceId: string }) {
  const { t, i18n } = useTranslation();
  const { path } = useAccount();
  const { code, until = '', blocks } = obstacle;
  const shown = code === 'restricted' ? formatTime(until, i18n.language) : until;
  return (
    <Alert color={blocks ? 'red' : 'yellow'} p="xs" icon={<IconAlertCircle />} role="status">
      {t(`conversations.obstacles.${code}`, { until: shown })}{' '}
      {OF_NUMBER.has(code) && (
        <Anchor component={Link} to={path(`numbers/${instanceId}`)} size="sm" underline="always">
          {t('conversations.openNumber')}
        </Anchor>
      )}
    </Alert>
  );
}
