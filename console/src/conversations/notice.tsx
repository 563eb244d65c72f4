import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { showPerson } from '../ui/person';
import { formatTime } from '../ui/time';
import type { Row } from './rows';

type NoticeEvent = Extract<Row, { kind: 'notice' }>['event'];
type GroupUpdate = Extract<NoticeEvent, { type: 'group.updated' }>['data'];

/** A call, a change of the group, or an opt-out, in words. */
export function Notice({ event }: { event: NoticeEvent }) {
  const { i18n } = useTranslation();
  const describe = useDescribe();
  return (
    <Text size="xs" c="dimmed" ta="center" className="wrap">
      {describe(event)} · {formatTime(event.data.timestamp, i18n.language)}
    </Text>
  );
}

function useDescribe(): (event: NoticeEvent) => string {
  const { t } = useTranslation();
  const describeGroup = useDescribeGroup();
  return (event) => {
    switch (event.type) {
      case 'call.received': {
        const { video, missed, rejected, from } = event.data;
        const kind = `${missed ? 'missed' : ''}${video ? 'Video' : 'Voice'}` as const;
        const key = kind === 'Video' ? 'video' : kind === 'Voice' ? 'voice' : kind;
        const text = t(`conversations.call.${key}`, { name: showPerson(from) });
        return rejected ? `${text} (${t('conversations.call.rejected')})` : text;
      }
      case 'group.updated':
        return describeGroup(event.data);
      default: {
        const { contact, keyword } = event.data;
        const key = event.type === 'contact.opted_out' ? 'optOut' : 'optIn';
        return t(`conversations.${key}`, { name: showPerson(contact), keyword });
      }
    }
  };
}

function useDescribeGroup(): (update: GroupUpdate) => string {
  const { t } = useTranslation();
  return (update) => {
    const people = (['joined', 'left', 'promoted', 'demoted'] as const).flatMap((change) => {
      const names = update[change]?.map(showPerson).join(', ');
      return names === undefined ? [] : [t(`conversations.group.${change}`, { names })];
    });
    const { subject, description, announcement, expires_in_s: expires, role, from } = update;
    const changes = [
      ...people,
      subject !== undefined && t('conversations.group.subject', { text: subject }),
      description !== undefined && t('conversations.group.description'),
      announcement !== undefined &&
        t(`conversations.group.${announcement ? 'announcementOn' : 'announcementOff'}`),
      expires !== undefined && t('conversations.group.expires'),
      role !== undefined && t('conversations.group.role'),
    ];
    const text = changes.filter((change) => change !== false).join('. ');
    const name = update.from_me ? t('conversations.me') : from && showPerson(from);
    return name === undefined ? text : t('conversations.group.by', { text, name });
  };
}
