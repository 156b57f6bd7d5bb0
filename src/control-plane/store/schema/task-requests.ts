/** Version 5: the request that set the task_state, and the one that deletes; unknown for what is under way. */
export const taskRequests = `
ALTER TABLE instances ADD COLUMN task_request_id TEXT;
ALTER TABLE instances ADD COLUMN delete_request_id TEXT;
`;
