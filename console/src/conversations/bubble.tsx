import { ActionIcon, Anchor, Badge, Group, Menu, Stack, Text } from '@mantine/core';
import { IconArrowBackUp, IconDots, IconInfoCircle, IconMoodOff, IconTimeline } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import { showPerson } from '../ui/person';
import { ProblemAlert } from '../ui/problem-alert';
import { formatTime } from '../ui/time';
import { ContentView } from './content';
import type { MessageRow } from './rows';

interface BubbleProps {
  row: MessageRow;
  isGroup: boolean;
  /** Absent: nothing can be sent here. */
  onReply?: ((row: MessageRow) => void) | undefined;
}

/** One message: who wrote what, to what it answers, and what became of it. */
export function Bubble({ row, isGroup, onReply }: BubbleProps) {
  const { t, i18n } = useTranslation();
  const react = useReact(row);
  const hasAuthor = isGroup && !row.isMine && row.author !== null;
  return (
    <Stack gap={2} align={row.isMine ? 'flex-end' : 'flex-start'} data-message={row.id}>
      <div className={row.isMine ? 'bubble bubble-mine' : 'bubble'}>
        <Stack gap={4}>
          {hasAuthor && (
            <Text size="xs" fw={700} className="wrap">
              {showPerson(row.author!)}
            </Text>
          )}
          {row.quoted && <Quote row={row.quoted.row} />}
          <Body row={row} />
          {row.answers.map(({ label, people }) => (
            <Text key={label} size="xs" className="wrap">
              {t('conversations.votes', {
                label,
                count: people.length,
                names: people.map(showPerson).join(', '),
              })}
            </Text>
          ))}
          <Group gap={6} justify="flex-end">
            <Text size="xs" c="dimmed">
              <time dateTime={row.time} title={formatTime(row.time, i18n.language)}>
                {formatClock(row.time, i18n.language)}
              </time>
              {row.isEdited && ` · ${t('conversations.edited')}`}
              {row.isMine && row.author !== null && ` · ${t('conversations.fromDevice')}`}
              {row.status !== null && ` · ${t(`messages.statuses.${row.status}`)}`}
            </Text>
            <Actions row={row} onReply={onReply} react={react.mutate} />
          </Group>
        </Stack>
      </div>
      {row.reactions.length > 0 && <Reactions row={row} />}
      <Failure row={row} />
      <ProblemAlert error={react.error} />
    </Stack>
  );
}

const formatClock = (time: string, language: string): string =>
  new Date(time).toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit' });

function Body({ row }: { row: MessageRow }) {
  const { t, i18n } = useTranslation();
  const { content, reply } = row;
  if (row.isDeleted) return <Note text={t('conversations.deleted')} />;
  return (
    <>
      {reply && (
        <Text size="sm" fw={600} className="wrap">
          {t(`conversations.${reply.vote_removed ? 'withdrew' : 'chose'}`, { label: reply.label })}
        </Text>
      )}
      {content && (!reply || content.text !== reply.label) && <ContentView content={content} />}
      {!content && (
        <>
          <Text size="sm" fw={600}>
            {t(`messages.types.${row.type}`)}
          </Text>
          <Note text={t(`conversations.${row.isMine ? 'notKept' : 'gone'}`)} />
        </>
      )}
      {row.scheduledFor !== null && row.status === 'queued' && (
        <Note text={t('conversations.scheduled', { time: formatTime(row.scheduledFor, i18n.language) })} />
      )}
    </>
  );
}

const Note = ({ text }: { text: string }) => (
  <Text size="sm" c="dimmed" fs="italic">
    {text}
  </Text>
);

/** The start of a message, for a quote of it. */
export function useSummary(): (row: MessageRow) => string {
  const { t } = useTranslation();
  return ({ isDeleted, reply, content, type }) => {
    if (isDeleted) return t('conversations.deleted');
    return reply?.label ?? (content?.text || t(`messages.types.${type}`));
  };
}

function Quote({ row }: { row: MessageRow | null }) {
  const { t } = useTranslation();
  const summarize = useSummary();
  return (
    <Text size="xs" className="bubble-quote wrap" lineClamp={3}>
      {row ? summarize(row) : t('conversations.quoted')}
    </Text>
  );
}

function Reactions({ row }: { row: MessageRow }) {
  const { t } = useTranslation();
  return (
    <Group gap={4}>
      {row.reactions.map(({ from, emoji }) => {
        const name = from ? showPerson(from) : t('conversations.me');
        return (
          <Badge key={from?.id ?? ''} variant="default" tt="none" fw={400} title={name}>
            {emoji} {name}
          </Badge>
        );
      })}
    </Group>
  );
}

/** Why a message failed, and what to do. */
function Failure({ row }: { row: MessageRow }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  if (!row.error || row.status !== 'failed') return null;
  const { code, message } = row.error;
  return (
    <Text size="xs" c="red" maw={480} ta="right" className="wrap">
      {t(`message.failures.${code}.title`)}. {t(`message.failures.${code}.advice`)}{' '}
      {code === 'wa_error' && message}{' '}
      {row.messageId !== null && (
        <Anchor component={Link} to={path(`messages/${row.messageId}`)} size="xs" underline="always" c="red">
          {t('conversations.details')}
        </Anchor>
      )}
    </Text>
  );
}

const EMOJIS = ['👍', '❤️', '😂', '😮', '😢', '🙏'];

interface ActionsProps {
  row: MessageRow;
  onReply: BubbleProps['onReply'];
  react: (emoji: string) => void;
}

function Actions({ row, onReply, react }: ActionsProps) {
  const { t, i18n } = useTranslation();
  const { path } = useAccount();
  if (row.messageId === null && row.eventId === null) return null;
  const hasArrived = !row.isMine || row.status === null || ['sent', 'delivered', 'read'].includes(row.status);
  const canAnswer = onReply !== undefined && row.messageId !== null && hasArrived && !row.isDeleted;
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={t('conversations.actions', { time: formatClock(row.time, i18n.language) })}
        >
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {canAnswer && (
          <>
            <Group gap={0} wrap="nowrap">
              {EMOJIS.map((emoji) => (
                <Menu.Item
                  key={emoji}
                  w="auto"
                  p={6}
                  aria-label={t('conversations.react', { emoji })}
                  onClick={() => react(emoji)}
                >
                  {emoji}
                </Menu.Item>
              ))}
            </Group>
            {row.reactions.some(({ from }) => from === null) && (
              <Menu.Item leftSection={<IconMoodOff size={16} />} onClick={() => react('')}>
                {t('conversations.unreact')}
              </Menu.Item>
            )}
            <Menu.Item leftSection={<IconArrowBackUp size={16} />} onClick={() => onReply(row)}>
              {t('conversations.reply')}
            </Menu.Item>
          </>
        )}
        {row.messageId !== null && (
          <Menu.Item
            component={Link}
            to={path(`messages/${row.messageId}`)}
            leftSection={<IconInfoCircle size={16} />}
          >
            {t('conversations.details')}
          </Menu.Item>
        )}
        {row.eventId !== null && (
          <Menu.Item
            component={Link}
            to={path(`events/${row.eventId}`)}
            leftSection={<IconTimeline size={16} />}
          >
            {t('conversations.event')}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function useReact({ messageId }: MessageRow) {
  const { id, gwk } = useAccount();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (emoji: string) => gwk.messages.react(messageId!, { emoji }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: [id, 'thread'] }),
  });
}
