import { Alert, Box, Button, Group, Paper, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { ConfirmButton } from '../ui/confirm-button';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { PersonSelect, PersonText, readPeople } from '../ui/people';
import { showPerson, toRecipient, type Person } from '../ui/person';
import { ProblemAlert } from '../ui/problem-alert';
import { Time } from '../ui/time';
import { ContactCheck } from './contact-check';

type OptOut = components['schemas']['OptOutOut'] & { person: Person };

/** The name under which the API finds the person of an opt-out. */
const nameOf = ({ contact_id, phone }: Pick<OptOut, 'contact_id' | 'phone'>): string =>
  contact_id ?? phone ?? '';

/** Contacts who receive nothing more. A member who is restricted to some numbers may not see or change them. */
export default function OptOutsPage() {
  const { t } = useTranslation();
  const { id, api, gwk, can } = useAccount();
  const [contact, setContact] = useFilter('contact');
  const filter = contact !== null && {
    contact: contact.includes('@') ? contact : `${contact}@s.whatsapp.net`,
  };
  const pages = usePages([id, 'opt-outs', contact], async (cursor) => {
    const page = await gwk.optOuts.list({ ...filter, ...(cursor !== undefined && { cursor }) });
    const findPerson = await readPeople(api, page.data.map(nameOf));
    return { ...page, data: page.data.map((row) => ({ ...row, person: findPerson(nameOf(row)) })) };
  });
  return (
    <>
      <PageHeader title={t('optOuts.title')} subtitle={t('optOuts.subtitle')} />
      <Stack>
        <ContactCheck />
        {can('messages:send') && <AddOptOut />}
        <Box maw={320}>
          <PersonSelect label={t('messages.contact')} value={contact} onChange={setContact} />
        </Box>
        <PagesView
          pages={pages}
          empty={<EmptyState title={t('optOuts.empty')} help={t('optOuts.emptyHelp')} />}
        >
          {(rows) => <OptOutsTable rows={rows} />}
        </PagesView>
      </Stack>
    </>
  );
}

function AddOptOut() {
  const { t } = useTranslation();
  const { id, gwk } = useAccount();
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const creation = useMutation({
    mutationFn: () => {
      const name = toRecipient(text);
      const body = name.includes('@') ? { contact: name } : { phone: name };
      return gwk.optOuts.create(body);
    },
    onSuccess: () => {
      setText('');
      return queries.invalidateQueries({ queryKey: [id, 'opt-outs'] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <Paper withBorder p="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Title order={2} size="h4">
            {t('optOuts.add')}
          </Title>
          <Group align="flex-end">
            <TextInput
              label={t('person.phoneOrId')}
              placeholder="5511987654321"
              required
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
            <Button type="submit" loading={creation.isPending}>
              {t('optOuts.add')}
            </Button>
          </Group>
          <ProblemAlert error={creation.error} />
        </Stack>
      </form>
    </Paper>
  );
}

function OptOutsTable({ rows }: { rows: OptOut[] }) {
  const { t } = useTranslation();
  const { can } = useAccount();
  return (
    <>
      <Alert color="blue">{t('optOuts.consent')}</Alert>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('messages.contact')}</Table.Th>
            <Table.Th>{t('optOuts.source')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('common.time')}</Table.Th>
            {can('messages:send') && <Table.Th>{t('common.actions')}</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={`${row.phone} ${row.contact_id} ${row.instance_id}`}>
              <Table.Td>
                <PersonText person={row.person} />
              </Table.Td>
              <Table.Td>
                {t(`optOuts.sources.${row.source}`, { keyword: row.keyword ?? '' })}
                {row.scope === 'sandbox' && (
                  <Text size="xs" c="dimmed">
                    {t('optOuts.sandbox')}
                  </Text>
                )}
              </Table.Td>
              <Table.Td visibleFrom="sm">
                <Time value={row.created_at} />
              </Table.Td>
              {can('messages:send') && (
                <Table.Td>
                  <RemoveOptOut row={row} />
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </>
  );
}

function RemoveOptOut({ row }: { row: OptOut }) {
  const { t } = useTranslation();
  const { id, gwk } = useAccount();
  const queries = useQueryClient();
  const remove = async () => {
    await gwk.optOuts.delete(nameOf(row));
    await queries.invalidateQueries({ queryKey: [id, 'opt-outs'] });
  };
  return (
    <ConfirmButton
      size="xs"
      label={t('optOuts.remove')}
      title={t('optOuts.removeTitle', { person: showPerson(row.person) })}
      text={t('optOuts.removeText')}
      action={remove}
    />
  );
}
